/**
 * The modules that the command loads before it does anything; loading them takes most of the time of a shell
 * completion.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { loadedBy, packagesOf } from "../../support/loaded_modules.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

Deno.test("start: cli/main.ts loads no package except commander before the command is known", async () => {
  assert.deepEqual(packagesOf(await loadedBy("cli/main.ts")), ["commander"]);
});

Deno.test("ostler status: loads no client of Temporal", async () => {
  const loaded = await Promise.all(["rollout/status_command.ts", "connect/kube_config.ts", "connect/cluster.ts"]
    .map((file) => loadedBy(`cli/${file}`)));
  const packages = packagesOf(loaded.flat());
  assert(packages.includes("@kubernetes/client-node"));
  assert.deepEqual(packages.filter((name) => /^@temporalio\/(client|worker|workflow)$/.test(name)), []);
});

Deno.test("start: ostler --help does not read the source file of a command", async () => {
  const plugin = { file: `${root}cli/kubectl-ostler`, args: ["--help"] };
  const task = { file: process.execPath, args: ["task", "--quiet", "ostler", "--help"] };
  for (const { file, args } of [plugin, task]) {
    const env = { ...process.env, DENO: process.execPath, DENO_LOG: "debug" };
    const { stderr } = await promisify(execFile)(file, args, { cwd: root, env, maxBuffer: 64 << 20 });
    // Deno logs an import-map line for each import in a file that it reads, also if it does not read the imported file.
    const read = stderr.split("\n").filter((line) => !line.includes("import_map:")).join("\n");
    assert.match(read, /cli\/program\.ts/);
    assert.doesNotMatch(read, /cli\/rollout\/status_command\.ts/, file);
  }
});
