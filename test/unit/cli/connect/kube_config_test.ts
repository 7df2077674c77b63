import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openKubeConfig } from "../../../../cli/connect/kube_config.ts";
import { Unreachable } from "../../../../cli/failure.ts";
import type { Terminal } from "../../../../cli/terminal.ts";
import { UsageError } from "../../../../cli/usage_error.ts";

function kubeconfig(...names: string[]): string {
  return JSON.stringify({
    clusters: names.map((name) => ({ name, cluster: { server: `https://${name}.test` } })),
    users: names.map((name) => ({ name, user: { token: "t" } })),
    contexts: names.map((name) => ({ name, context: { cluster: name, user: name, namespace: `of-${name}` } })),
    "current-context": names[0],
  });
}

/** Returns the server that is chosen in a folder with a.yaml, b.yaml and `files`; the home has a kubeconfig, too. */
function server(
  env: Record<string, string>,
  options: { kubeconfig?: string; context?: string } = {},
  files: Record<string, string> = {},
): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), "ostler-kubeconfig-"));
  try {
    mkdirSync(join(directory, "home", ".kube"), { recursive: true });
    writeFileSync(join(directory, "home", ".kube", "config"), kubeconfig("home"));
    writeFileSync(join(directory, "a.yaml"), kubeconfig("a", "other"));
    writeFileSync(join(directory, "b.yaml"), kubeconfig("b"));
    for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text);
    const home = env["HOME"] === undefined ? { HOME: join(directory, "home") } : {};
    const terminal = { directory, env: { ...env, ...home } } as unknown as Terminal;
    return openKubeConfig(terminal, options).getCurrentCluster()?.server;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

Deno.test("openKubeConfig: prefers the flag, then KUBECONFIG, then the file in the home", () => {
  assert.equal(server({ KUBECONFIG: "b.yaml" }, { kubeconfig: "a.yaml" }), "https://a.test");
  assert.equal(server({ KUBECONFIG: "b.yaml" }), "https://b.test");
  assert.equal(server({}), "https://home.test");
});

Deno.test("openKubeConfig: merges the files of KUBECONFIG and ignores missing ones", () => {
  const env = { KUBECONFIG: "nope.yaml:a.yaml:b.yaml" };
  assert.equal(server(env), "https://a.test");
  assert.equal(server(env, { context: "b" }), "https://b.test");
});

Deno.test("openKubeConfig: uses the first of several entries with the same name", () => {
  const files = Object.fromEntries(["one", "two"].map((name) => {
    const text = kubeconfig("kubernetes", `only-${name}`).replace("https://kubernetes.test", `https://${name}.test`);
    return [`${name}.yaml`, text];
  }));
  const env = { KUBECONFIG: "one.yaml:two.yaml" };
  assert.equal(server(env, {}, files), "https://one.test");
  assert.equal(server(env, { context: "kubernetes" }, files), "https://one.test");
  assert.equal(server(env, { context: "only-two" }, files), "https://only-two.test");
});

Deno.test("openKubeConfig: uses the current context of the first file that names one", () => {
  const files = { "none.yaml": kubeconfig(), "empty.yaml": JSON.stringify({ "current-context": "" }) };
  assert.equal(server({ KUBECONFIG: "none.yaml:empty.yaml:b.yaml:a.yaml" }, {}, files), "https://b.test");
  assert.throws(() => server({ KUBECONFIG: "none.yaml" }, {}, files), UsageError);
});

Deno.test("openKubeConfig: refuses a missing context and a missing file", () => {
  assert.throws(
    () => server({}, { context: "x" }),
    new UsageError('Failed to use context "x": the kubeconfig does not have it; its contexts: home'),
  );
  assert.throws(() => server({}, { kubeconfig: "x.yaml" }), {
    name: "UsageError",
    message: /x\.yaml": it does not exist$/,
  });
});

Deno.test("openKubeConfig: explains which flag or variable is needed when no file exists", () => {
  assert.throws(() => server({ HOME: "/nowhere" }), Unreachable);
  assert.throws(() => server({ HOME: "/nowhere" }), {
    message:
      'Failed to reach Kubernetes: found no kubeconfig at "/nowhere/.kube/config"; give --kubeconfig, or set KUBECONFIG',
  });
});
