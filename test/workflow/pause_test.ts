/** Commands of people keep their effect after the end of a run, after a restart of the worker, and when sent twice. */
import { deepEqual, equal } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage();

const hour = 3_600_000;
const patient = { deadlines: { ...testDeadlines, recheck: "1h" } };

/** Starts a rollout whose first new machine does not become Ready before the test calls `pool.mend()`. */
async function rolloutUnderWay(stage: Stage): Promise<{ pool: FakePool; handle: Handle }> {
  const pool = await stage.grownPool();
  pool.fate = (_, image) => image === "image-2" ? "registered" : "joins";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  return { pool, handle };
}

test("pause: outlives the end of a run", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "registered";
  pool.change({ replicas: 4 });
  pool.before["awaitMachinesJoined"] = async () => {
    delete pool.before["awaitMachinesJoined"];
    await stage.client.workflow.getHandle(pool.holder).signal("pauseRequested", { by: "somebody", reason: "freeze" });
  };
  const first = await stage.rollOut(pool, patient);
  await eventually("the pause", () => pool.rollout.paused?.by === "somebody");
  pool.mend();
  equal((await first.result()).outcome, "Converged");
  pool.change({ image: "image-2" });
  const second = await stage.rollOut(pool, patient);
  const { pausedBy } = await stage.stands(second, "Rolling", "Paused");
  deepEqual([pausedBy?.by, pausedBy?.reason, pool.count("ensureMachineAdmitted")], ["somebody", "freeze", 0]);
  await stage.ask(pool, "resume");
  equal((await second.result()).replaced, 4);
  equal(pool.rollout.paused, null);
});

test("pause: is received when it was sent while no worker ran", async (stage) => {
  const { pool, handle } = await rolloutUnderWay(stage);
  await stage.stopWorker();
  await handle.signal("pauseRequested", { by: "somebody" });
  pool.mend();
  await stage.startWorker();
  await stage.stands(handle, "Rolling", "Paused");
  equal(pool.count("ensureMachineAdmitted"), 1);
  await handle.signal("resumeRequested", {});
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
});

test("abort: is executed by the next worker if the first worker dies before it has restored the template", async (stage) => {
  const { pool, handle } = await rolloutUnderWay(stage);
  const { promise: restored, resolve } = Promise.withResolvers<void>();
  pool.before["ensureLastGoodRestored"] = async (times) => {
    if (times > 1) return;
    resolve();
    await new Promise((wake) => setTimeout(wake, 300)); // the test stops the worker during this time
    throw new Error("the worker stopped");
  };
  await stage.ask(pool, "abort");
  await restored;
  await stage.stopWorker();
  await stage.startWorker();
  equal((await handle.result()).outcome, "Aborted");
  assertRuns(pool, "image-1");
  assertOrderly(pool);
});

test("pause: sent twice has the same effect as sent once, and so have resume, retry, promote and abort", async (stage) => {
  const waves = [1, 2, 3].map((upTo) => ({ upTo, soak: hour }));
  const pool = await stage.grownPool({ replicas: 4, rules: { waves: [...waves, { upTo: "100%", soak: 0 }] } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Rolling", "Soaking");
  for (const command of ["pause", "resume", "retry"]) {
    await stage.ask(pool, command);
    await stage.ask(pool, command, { by: "somebody else" });
  }
  equal((await stage.stands(handle, "Rolling", "Soaking")).wave, 1);
  // The second promote may arrive after the soak has ended, and is then refused.
  await Promise.allSettled([stage.ask(pool, "promote"), stage.ask(pool, "promote")]);
  await stage.sees(pool, "the second soak", ({ wave, reason }) => wave === 2 && reason === "Soaking");
  equal(pool.count("ensureMachineAdmitted"), 2);
  await Promise.all([stage.ask(pool, "abort"), stage.ask(pool, "abort")]);
  equal((await handle.result()).outcome, "Aborted");
  deepEqual(pool.history.map(({ outcome }) => outcome), ["Converged", "Aborted"]);
  assertRuns(pool, "image-1");
  assertOrderly(pool);
});

test("pause: a second pause keeps the name of the person who paused first", async (stage) => {
  const { pool, handle } = await rolloutUnderWay(stage);
  await stage.ask(pool, "pause", { by: "first" });
  await stage.ask(pool, "pause", { by: "second" });
  equal((await stage.progress(handle)).pausedBy?.by, "first");
  await handle.cancel();
});
