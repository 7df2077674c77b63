import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { edgeScript } from "../../../profiles/mod.ts";
import { SecretsApi } from "../../support/secrets_api.ts";

const token = "token-of-the-test";
const target = "pool-kube-system-bootstrap-config.cfg";

interface Outcome {
  code: number;
  /** The standard output and the standard error of the script. */
  output: string;
  /** The command line of every program that the script started. */
  commands: string[];
  /** The user-data, by file. */
  files: Record<string, string>;
  mode?: number;
}

/** Runs the script with the real curl, jq and base64; apt-get, cloud-init and systemctl do nothing. */
async function run(script: string): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), "ostler-edge-"));
  const [bin, etc, log] = ["bin", "etc", "log"].map((name) => join(folder, name)) as [string, string, string];
  try {
    for (const path of [bin, etc]) await mkdir(path);
    const real = Deno.env.get("PATH") ?? "";
    for (const name of ["apt-get", "cloud-init", "systemctl", "curl", "jq", "base64", "mv"]) {
      const isReal = ["curl", "jq", "base64", "mv"].includes(name);
      const next = isReal ? `PATH='${real}' exec ${name} "$@"` : "exit 0";
      await writeFile(join(bin, name), `#!/bin/sh\necho "${name} $*" >>'${log}'\n${next}\n`);
      await chmod(join(bin, name), 0o755);
    }
    const command = new Deno.Command("/bin/sh", {
      args: ["-c", script.replaceAll("/etc/cloud/cloud.cfg.d", etc)],
      env: { PATH: `${bin}:${real}` },
    });
    const { code, stdout, stderr } = await command.output();
    const names = await readdir(etc);
    const texts = await Promise.all(names.map(async (name) => [name, await readFile(join(etc, name), "utf8")]));
    const mode = names[0] === undefined ? undefined : (await stat(join(etc, names[0]))).mode & 0o777;
    return {
      code,
      output: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr),
      commands: (await readFile(log, "utf8")).trimEnd().split("\n"),
      files: Object.fromEntries(texts),
      ...(mode === undefined ? {} : { mode }),
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function scriptFor(api: SecretsApi, more: { apiServer?: string; caPem?: string } = {}): string {
  const secret = target.replace(".cfg", "");
  return edgeScript({ ...{ apiServer: api.url, caPem: api.caPem }, ...more, token, secret });
}

Deno.test("fault S6: the edge script applies the user-data, and its token appears in no command line and no output", async () => {
  await using api = await SecretsApi.start(token);
  api.secrets.set("pool-kube-system-bootstrap-config", { "cloud-config": "#cloud-config\n" });
  const { code, output, commands, files, mode } = await run(scriptFor(api));
  assert.equal(code, 0, output);
  assert.deepEqual(files, { [target]: "#cloud-config\n" });
  assert.equal(mode, 0o600);
  assert.equal([output, ...commands].join("\n").includes(token), false);
  assert.deepEqual(commands.filter((line) => /^(cloud-init|systemctl)/.test(line)).map((line) => line.split(" ")[0]), [
    ...["cloud-init", "systemctl", "systemctl"],
  ]);
});

Deno.test("fault S6: the edge script sends its token only over TLS, to an API server whose certificate its CA signed", async () => {
  await using api = await SecretsApi.start(token);
  await using stranger = await SecretsApi.start(token);
  for (const one of [api, stranger]) one.secrets.set("pool-kube-system-bootstrap-config", { "cloud-config": "evil" });
  let asked = 0;
  const plain = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    asked++;
    return Response.json({ data: { "cloud-config": btoa("evil") } });
  });
  try {
    const apiServer = `http://127.0.0.1:${(plain.addr as Deno.NetAddr).port}`;
    for (const wrong of [{ caPem: stranger.caPem }, { apiServer }]) {
      const { code, commands, files } = await run(scriptFor(api, wrong));
      assert.notEqual(code, 0);
      assert.deepEqual(files, {});
      assert.equal(commands.some((line) => /^(cloud-init|systemctl)/.test(line)), false);
    }
    assert.equal(asked, 0);
  } finally {
    await plain.shutdown();
  }
});

Deno.test("edgeScript: changes nothing when the API server refuses, or the secret lacks its key", async () => {
  await using api = await SecretsApi.start(token);
  api.secrets.set("pool-kube-system-bootstrap-config", { other: "x" });
  for (const _ of ["without the key", "refused"]) {
    const { code, files } = await run(scriptFor(api));
    assert.notEqual(code, 0);
    assert.deepEqual(files, {});
    api.refusals.push(403);
  }
});
