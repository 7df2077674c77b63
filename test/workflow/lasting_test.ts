/** Commands and recorded state are not lost through signals, failed runs or queries that come later. */
import { bundleWorkflowCode, DefaultLogger, Worker } from "@temporalio/worker";
import { deepEqual, equal } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { eventually } from "../support/eventually.ts";
import { budgetOf, gateOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();

const patient = { deadlines: { ...testDeadlines, recheck: "1h" } };

test("abort: ends the run although signals come while it ends", async (stage) => {
  const pool = stage.pool({ fate: () => "registered" });
  const handle = await stage.rollOut(pool, patient);
  await eventually("all joins under way", () => pool.count("awaitMachinesJoined") === 3);
  pool.before["ensureRolloutReported"] = async () => {
    delete pool.before["ensureRolloutReported"];
    await stage.tell(pool);
  };
  await handle.signal("abortRequested", { by: "somebody" });
  equal((await handle.result()).outcome, "Aborted");
  equal(pool.count("awaitMachinesJoined"), 3);
});

test("rollout: a run that halts before it knows the desired state keeps the records of earlier runs", async (stage) => {
  const pool = await stage.grownPool();
  pool.rollout.paused = { by: "ada", reason: "incident 12", since: 1 };
  pool.isControllerDown = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, settle: 300 } });
  await stage.stands(handle, "Halted", "SettleExpired");
  await eventually("a report", () => pool.reports.length > 0);
  equal(pool.rollout.paused?.by, "ada");
  await handle.cancel();
});

test("history: can be replayed, however often progress was queried during the run", async (stage) => {
  const pool = await stage.grownPool({
    ...{ replicas: 6, surge: 3 },
    rules: { budget: budgetOf(3), gates: [gateOf("EachMachine")] },
  });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("the end, under questions", async () => {
    await stage.progress(handle);
    return (await handle.describe()).status.name !== "RUNNING";
  });
  const workflowsPath = fileURLToPath(new URL("../../workflows/mod.ts", import.meta.url));
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger("ERROR") });
  await Worker.runReplayHistory({ workflowBundle }, await handle.fetchHistory(), pool.holder);
  deepEqual([(await handle.result()).replaced, pool.violations], [6, []]);
});
