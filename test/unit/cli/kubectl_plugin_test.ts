import assert from "node:assert/strict";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** The cache that Deno uses; by default Deno would create one in HOME, which does not exist in these tests. */
const DENO_DIR = process.env["DENO_DIR"] ?? join(homedir(), ".cache", "deno");

const plugin = fileURLToPath(new URL("../../../cli/kubectl-ostler", import.meta.url));

/** Runs the plugin as kubectl does: through a link on the PATH, from any folder, with arguments. */
async function run(name: string, args: string[], more: Record<string, string> = {}): Promise<Deno.CommandOutput> {
  const folder = mkdtempSync(join(tmpdir(), "ostler-plugin-"));
  symlinkSync(plugin, join(folder, name));
  const env = { DENO: Deno.execPath(), DENO_DIR, HOME: "/nowhere", KUBECONFIG: "", NO_COLOR: "1", ...more };
  try {
    return await new Deno.Command(join(folder, name), { args, env, cwd: folder }).output();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

Deno.test('kubectl-ostler: runs ostler, and its help names the command "kubectl ostler"', async () => {
  const { code, stdout } = await run("kubectl-ostler", ["status", "--help"]);
  assert.equal(code, 0);
  assert.match(text(stdout), /^Usage: kubectl ostler status /);
});

Deno.test("kubectl-ostler: exits with the code of the command (4 without a kubeconfig) when the file is named ostler", async () => {
  const { code, stderr } = await run("ostler", ["status", "-n", "fleet"]);
  assert.equal(code, 4);
  assert.match(text(stderr), /^Failed to reach Kubernetes: found no kubeconfig at "\/nowhere\/\.kube\/config"/);
});

Deno.test("kubectl-ostler: completes a partial command for kubectl when the file is named kubectl_complete-ostler", async () => {
  const { code, stdout } = await run("kubectl_complete-ostler", ["hist"]);
  assert.deepEqual([code, text(stdout)], [0, "history\tshow the last ten rollouts\n:4\n"]);
});

Deno.test("kubectl-ostler: completion ends within 9 s, without suggestions, when the API server does not respond", async () => {
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = silent.addr as Deno.NetAddr;
  const folder = mkdtempSync(join(tmpdir(), "ostler-silent-"));
  const kubeconfig = join(folder, "config");
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: `https://127.0.0.1:${port}` } }],
      contexts: [{ name: "c", context: { cluster: "c" } }],
      "current-context": "c",
    }),
  );
  const began = performance.now();
  const { code, stdout } = await run("kubectl_complete-ostler", ["pause", ""], { KUBECONFIG: kubeconfig });
  rmSync(folder, { recursive: true });
  assert.deepEqual([code, text(stdout)], [0, ":4\n"]);
  assert.ok(performance.now() - began < 9_000);
});

Deno.test("kubectl-ostler: lets Deno update node_modules only when it is missing or older than deno.lock", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ostler-packages-"));
  const place = (name: string): string => join(folder, name);
  for (const name of ["cli", "node_modules/.deno"]) mkdirSync(place(name), { recursive: true });
  copyFileSync(plugin, place("cli/kubectl-ostler"));
  for (const name of ["deno.lock", "node_modules/.deno/.setup-cache.bin"]) writeFileSync(place(name), "");
  const packagesWith = async (wanted: number, installed: number | undefined): Promise<string | undefined> => {
    utimesSync(place("deno.lock"), wanted, wanted);
    if (installed === undefined) rmSync(place("node_modules"), { recursive: true });
    else utimesSync(place("node_modules/.deno/.setup-cache.bin"), installed, installed);
    const { stdout } = await new Deno.Command(place("cli/kubectl-ostler"), { env: { DENO: "/bin/echo" } }).output();
    return /--node-modules-dir=(\w+)/.exec(text(stdout))?.[1];
  };
  try {
    assert.equal(await packagesWith(1_000, 2_000), "manual");
    assert.equal(await packagesWith(3_000, 2_000), "auto");
    assert.equal(await packagesWith(3_000, undefined), "auto");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/**
 * A stand-in for Deno that records its first argument, writes an output file for `bundle`, and prints its arguments.
 */
const bundler = `#!/bin/sh
echo "$1" >>"$CALLS"
[ "$1" != bundle ] || [ -n "$BROKEN" ] || while [ $# -gt 1 ]; do [ "$1" != --output ] || echo x >"$2"; shift; done
[ -z "$BROKEN" ] || [ "$1" != bundle ] || exit 1
echo "$@"
`;

Deno.test("kubectl-ostler: bundles the Kubernetes client once, and uses no outdated bundle", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ostler-client-"));
  const place = (name: string): string => join(folder, name);
  for (const name of ["cli", "activities/kube", "node_modules/.deno"]) mkdirSync(place(name), { recursive: true });
  copyFileSync(plugin, place("cli/kubectl-ostler"));
  const source = place("activities/kube/client_node.ts");
  for (const [name, at] of [["deno.lock", 1_000], ["node_modules/.deno/.setup-cache.bin", 2_000]] as const) {
    writeFileSync(place(name), "");
    utimesSync(place(name), at, at);
  }
  // Writes the source with an old modification time, as tools that copy files with their times do.
  const update = (content: string): void => {
    writeFileSync(source, content);
    utimesSync(source, 1_000, 1_000);
  };
  update("");
  writeFileSync(place("deno"), bundler, { mode: 0o755 });
  const run = async (more: Record<string, string>): Promise<[called: string, usesFile: boolean]> => {
    rmSync(place("calls"), { force: true });
    const env = { DENO: place("deno"), CALLS: place("calls"), HOME: folder, BROKEN: "", ...more };
    const args = ["-c", `umask 077; exec "$0" status`, place("cli/kubectl-ostler")];
    const { code, stdout } = await new Deno.Command("/bin/sh", { env, args }).output();
    assert.equal(code, 0);
    const map = /--import-map=(\S+)/.exec(text(stdout))?.[1];
    return [
      readFileSync(place("calls"), "utf8").split("\n").join(" ").trim(),
      readFileSync(map ?? source, "utf8").includes("client_node.js"),
    ];
  };
  try {
    assert.deepEqual(await run({ HOME: place("none") }), ["run", false]);
    assert.deepEqual(await run({ BROKEN: "yes" }), ["bundle run", false]);
    assert.deepEqual(await run({}), ["run", false]);
    update("another");
    assert.deepEqual(await run({ HOME: place("none") }), ["run", false]);
    assert.deepEqual(await run({}), ["bundle run", true]);
    assert.deepEqual(await run({}), ["run", true]);
    update("yet another");
    assert.deepEqual(await run({ HOME: place("none") }), ["run", false]);
    assert.deepEqual(await run({}), ["bundle run", true]);
    const [kept = "", ...others] = readdirSync(place("node_modules/.ostler"));
    assert.deepEqual(others, []);
    const modes = ["", "imports.json", "client_node.js"].map((name) => {
      return statSync(join(place("node_modules/.ostler"), kept, name)).mode & 0o777;
    });
    assert.deepEqual(modes, [0o755, 0o644, 0o644], "Expected modes that let others use the checkout");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("kubectl-ostler: exits with 2 and reports how to install or set Deno when Deno is missing", async () => {
  const { code, stderr } = await run("kubectl-ostler", [], { DENO: "/nowhere/deno" });
  assert.deepEqual([code, text(stderr)], [
    2,
    "Failed to run kubectl ostler: /nowhere/deno is not on the PATH; install Deno, or set DENO to its path\n",
  ]);
});
