import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { OrphanGuard } from "../../deploy/local/process/orphan_guard.ts";
import { waitUntil } from "../../deploy/local/process/wait_until.ts";
import { scratchDirectory } from "../support/scratch_directory.ts";

const supervisorUrl = new URL("../../deploy/local/process/supervisor.ts", import.meta.url);

Deno.test("OrphanGuard.close: ends registered processes and leaves unregistered ones running", async () => {
  const guard = new OrphanGuard();
  const [kept, spared] = [startSleeper(), startSleeper()];
  guard.add(kept.pid!);
  guard.add(spared.pid!);
  guard.remove(spared.pid!);
  const keptExit = once(kept, "exit");
  await guard.close();
  assert.deepEqual(await keptExit, [null, "SIGTERM"]);
  assert.equal(spared.exitCode ?? spared.signalCode, null);
  const sparedExit = once(spared, "exit");
  spared.kill("SIGKILL");
  await sparedExit;
});

Deno.test("Supervisor: ends its processes when the supervising process is killed", async () => {
  await using scratch = await scratchDirectory();
  const program = `
    import { Supervisor } from ${JSON.stringify(supervisorUrl.href)};
    const supervisor = new Supervisor({ directory: ${JSON.stringify(scratch.path)} });
    const spec = { name: "orphan", command: "sleep", args: ["600"], ready: () => Promise.resolve() };
    console.log((await supervisor.start(spec)).pid);
    await new Promise(() => setInterval(() => {}, 1000));
  `;
  const parent = spawn(Deno.execPath(), ["eval", program], { stdio: ["ignore", "pipe", "inherit"] });
  const parentExit = once(parent, "exit");
  const [output] = await once(parent.stdout!, "data");
  const orphan = Number(String(output));
  assert.ok(process.kill(orphan, 0));
  parent.kill("SIGKILL");
  await parentExit;
  await waitUntil(() => isGone(orphan), { what: `process ${orphan} gone`, timeoutMs: 15_000 });
});

function startSleeper(): ReturnType<typeof spawn> {
  return spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
}

function isGone(pid: number): Promise<void> {
  try {
    process.kill(pid, 0);
  } catch {
    return Promise.resolve();
  }
  return Promise.reject(new Error("it still runs"));
}
