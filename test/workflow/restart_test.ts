import { deepEqual, equal, notEqual } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { onStage } from "../support/workflow_stage.ts";

// The server asks for continue-as-new after a few replacements, and no workflow stays in memory.
const test = onStage({
  maxCachedWorkflows: 0,
  dynamicConfig: ["limit.historyCount.suggestContinueAsNew=40"],
});

function assertRolled(pool: FakePool, image: string): void {
  deepEqual(pool.machines.map(({ set }) => set.image), Array(pool.replicas).fill(image));
  deepEqual([pool.violations, pool.drainedByController], [[], []]);
  deepEqual(pool.machines.filter(({ hold, mark }) => hold || mark), []);
}

test("rollOutMachineDeployment: continues when the worker was restarted while a machine joined", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  await stage.stopWorker();
  pool.mend();
  await stage.startWorker();
  equal((await handle.result()).replaced, 3);
  assertRolled(pool, "image-2");
  deepEqual(pool.writes().filter((call) => call.startsWith("deleteMachine")), []);
});

test("rollOutMachineDeployment: continues when the worker was restarted during a drain", async (stage) => {
  const pool = await stage.grownPool();
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a drain under way", () => pool.count("awaitNodeDrained") >= 1);
  await stage.stopWorker();
  pool.unblock();
  await stage.startWorker();
  equal((await handle.result()).replaced, 3);
  assertRolled(pool, "image-2");
});

test("rollOutMachineDeployment: keeps its records when it continues as new because of a long history", async (stage) => {
  const pool = await stage.grownPool({ replicas: 4 });
  pool.change({ image: "image-2" });
  const first = await stage.rollOut(pool);
  const { runId } = await first.describe();
  const result = await first.result();
  notEqual((await stage.client.workflow.getHandle(pool.holder).describe()).runId, runId);
  deepEqual([result.outcome, result.replaced, result.joins.length, result.replacements.length], ["Converged", 4, 4, 4]);
  assertRolled(pool, "image-2");
});

test("rollOutMachineDeployment: stays paused in a new run of its chain", async (stage) => {
  const pool = await stage.grownPool({ replicas: 2 });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  await handle.signal("pauseRequested", { by: "somebody" });
  pool.mend();
  // The test reads reports and sends no queries, each of which would replay the whole history on this worker.
  await eventually("the pause to be reported", () => pool.reports.at(-1)?.reason === "Paused");
  const chain = stage.client.workflow.getHandle(pool.holder);
  const { runId } = await chain.describe();
  await eventually("another run", async () => (await chain.describe()).runId !== runId);
  equal(pool.count("ensureMachineAdmitted"), 1);
  await chain.executeUpdate("resume", { args: [{}] });
  equal((await handle.result()).replaced, 2);
  assertRolled(pool, "image-2");
});
