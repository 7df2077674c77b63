/** The README's first command, as a newcomer runs it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../", import.meta.url));

Deno.test("deno task demo keeps its promises and says so in one JSON line", async () => {
  const args = ["task", "demo", "--json", "--replicas", "2", "--boot-seconds", "2", "--seed", "4"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout: 600_000 });
  const report = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
  assert.equal(report.ok, true);
  assert.deepEqual(report.violations, []);
  assert.equal(report.workerKilled, true);
  assert.equal(report.machines.length, 4);
});

Deno.test("deno task demo refuses an unknown option and starts nothing", async () => {
  const run = promisify(execFile)(process.execPath, ["task", "demo", "--colour"], { cwd: root, timeout: 60_000 });
  await assert.rejects(run, (error: { code?: number; stderr?: string }) => {
    assert.equal(error.code, 2);
    assert.match(error.stderr ?? "", /--colour/);
    return true;
  });
});
