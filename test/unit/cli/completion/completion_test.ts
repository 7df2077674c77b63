import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Unreachable } from "../../../../cli/failure.ts";
import { machine } from "../../../support/machine_objects.ts";
import { FakeWorld, readyStatus } from "../../../support/fake_world.ts";

function world(): FakeWorld {
  const made = new FakeWorld();
  for (const name of ["workers", "workers-gpu", "edge"]) made.putPool(readyStatus(), { name });
  made.kube.put("machines", machine("m-1"));
  return made;
}

/** Returns the suggested words, and last the directive that allows or forbids file names. */
async function suggested(...words: string[]): Promise<string[]> {
  const { code, out, err } = await world().run(["__complete", ...words]);
  assert.deepEqual([code, err], [0, ""]);
  return out.trimEnd().split("\n").map((line) => line.split("\t")[0] ?? "");
}

Deno.test("completion: suggests commands, and no hidden ones", async () => {
  assert.deepEqual(await suggested("re"), ["resume", "retry", "recreate", "render", "release", ":4"]);
  assert.equal((await suggested("_")).length, 1);
});

Deno.test("completion: suggests the flags of a command, and the values of a flag", async () => {
  assert.deepEqual(await suggested("status", "--na"), ["--namespace", ":4"]);
  assert.deepEqual(await suggested("status", "-o", ""), ["table", "wide", "json", "yaml", ":4"]);
  assert.deepEqual(await suggested("completion", ""), ["bash", "zsh", "fish", ":4"]);
});

Deno.test("completion: suggests pools and machines in the namespace that the typed command selects", async () => {
  assert.deepEqual(await suggested("pause", "wor"), ["workers", "workers-gpu", ":4"]);
  assert.deepEqual(await suggested("pause", "--reason", "x", "ed"), ["edge", ":4"]);
  assert.deepEqual(await suggested("pause", "-n", "other", ""), [":4"]);
  assert.deepEqual(await suggested("explain", ""), ["m-1", ":4"]);
});

Deno.test("completion: lets the shell complete file names where a file is expected", async () => {
  assert.deepEqual(await suggested("render", ""), [":0"]);
  assert.deepEqual(await suggested("plan", "-f", ""), [":0"]);
});

Deno.test("completion: prints nothing when the cluster is unreachable", async () => {
  const made = world();
  made.kube.onRequest = () => {
    throw new Unreachable("away");
  };
  const { code, out, err } = await made.run(["__complete", "pause", ""]);
  assert.deepEqual([code, out, err], [0, ":4\n", ""]);
});

Deno.test("ostler completion: prints a script for bash, zsh and fish, and refuses other shells", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, out } = await world().run(["completion", shell]);
    assert.equal(code, 0);
    assert.match(out, /__complete/);
  }
  assert.equal((await world().run(["completion", "tcsh"])).code, 2);
});

Deno.test("ostler completion: bash completes with the script", async () => {
  const { out } = await world().run(["completion", "bash"]);
  const folder = mkdtempSync(join(tmpdir(), "ostler-completion-"));
  const answering =
    `#!/bin/sh\n[ "$*" = "__complete pause wor" ] && printf 'workers\\t\\nworkers-gpu\\tof them\\n:4\\n'\n`;
  writeFileSync(join(folder, "ostler"), answering);
  chmodSync(join(folder, "ostler"), 0o755);
  const script = `${out}\nCOMP_WORDS=(ostler pause wor); COMP_CWORD=2; _ostler; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { PATH: `${folder}:${Deno.env.get("PATH")}` };
  const { stdout, stderr } = await new Deno.Command("bash", { args: ["-c", script], env }).output();
  rmSync(folder, { recursive: true });
  assert.equal(new TextDecoder().decode(stderr), "");
  assert.equal(new TextDecoder().decode(stdout), "workers\nworkers-gpu\n");
});
