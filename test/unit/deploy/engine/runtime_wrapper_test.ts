import assert from "node:assert/strict";
import { join } from "node:path";
import { lacksSysResource, wrapperScript } from "../../../../deploy/local/engine/runtime_wrapper.ts";
import { scratchDirectory } from "../../../support/scratch_directory.ts";

Deno.test("lacksSysResource: reads the bounding set, not the effective one", () => {
  assert.ok(lacksSysResource("CapEff:\t000001ffffffffff\nCapBnd:\t000001fffeffffff\n"));
  assert.ok(!lacksSysResource("CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n"));
  assert.ok(!lacksSysResource(""));
});

const capabilities = { bounding: ["CAP_CHOWN", "CAP_SYS_RESOURCE"], effective: ["CAP_SYS_RESOURCE", "CAP_CHOWN"] };
const single = { inheritable: ["CAP_SYS_RESOURCE"], permitted: ["CAP_CHOWN", "CAP_SYS_RESOURCE", "CAP_KILL"] };
const stripped = { bounding: ["CAP_CHOWN"], effective: ["CAP_CHOWN"] };
const strippedSingle = { inheritable: [], permitted: ["CAP_CHOWN", "CAP_KILL"] };

/** Runs the wrapper around a runtime that prints its arguments, over a bundle and a process file. */
async function runWrapper(
  args: (folder: string) => string[],
): Promise<{ told: string; bundle: unknown; file: unknown }> {
  await using scratch = await scratchDirectory();
  const at = (name: string): string => join(scratch.path, name);
  const read = async (name: string): Promise<unknown> => JSON.parse(await Deno.readTextFile(at(name)));
  await Deno.writeTextFile(at("runc"), '#!/bin/sh\necho "$#:$*"\n', { mode: 0o755 });
  await Deno.writeTextFile(at("wrapper"), wrapperScript(at("runc")), { mode: 0o755 });
  await Deno.writeTextFile(
    at("config.json"),
    JSON.stringify({ process: { capabilities: { ...capabilities, ...single } } }),
  );
  await Deno.writeTextFile(at("process.json"), JSON.stringify({ capabilities: { ...capabilities, ...single } }));
  const { stdout, code } = await new Deno.Command(at("wrapper"), { args: args(scratch.path) }).output();
  assert.equal(code, 0);
  const told = new TextDecoder().decode(stdout).trim().replaceAll(scratch.path, "");
  return { told, bundle: await read("config.json"), file: await read("process.json") };
}

const whole = { ...capabilities, ...single };
const less = { ...stripped, ...strippedSingle };

Deno.test("wrapperScript: removes CAP_SYS_RESOURCE from the bundle of a new container, and changes no argument", async () => {
  const { told, bundle, file } = await runWrapper((
    at,
  ) => ["--root", "/create", "create", "--bundle", at, "--no-pivot", "a b"]);
  assert.equal(told, "7:--root /create create --bundle  --no-pivot a b");
  assert.deepEqual(bundle, { process: { capabilities: less } });
  assert.deepEqual(file, { capabilities: whole });
});

Deno.test('wrapperScript: removes CAP_SYS_RESOURCE from the process file of exec, with "--process FILE" and with "--process=FILE"', async () => {
  for (
    const spell of [
      (at: string) => ["--process", `${at}/process.json`],
      (at: string) => [`--process=${at}/process.json`],
    ]
  ) {
    const { bundle, file } = await runWrapper((at) => ["--log", "x", "exec", ...spell(at), "--detach", "id"]);
    assert.deepEqual(bundle, { process: { capabilities: whole } });
    assert.deepEqual(file, { capabilities: less });
  }
});

Deno.test("wrapperScript: changes no file for a command that grants no capabilities", async () => {
  const { told, bundle, file } = await runWrapper(() => ["--root", "/r", "kill", "--all", "id", "9"]);
  assert.equal(told, "6:--root /r kill --all id 9");
  assert.deepEqual(bundle, { process: { capabilities: whole } });
  assert.deepEqual(file, { capabilities: whole });
});
