import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { ApplicationFailure } from "@temporalio/common";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();

/** Deadlines with a recheck of 1h, so that a halted run continues only after a signal of the test. */
const deadlines = { ...testDeadlines, recheck: "1h" };

function whyRefused(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : String(error);
}

/**
 * Gives the pool rules that no version of Ostler writes, so that the planner throws; returns a function that restores
 * them.
 */
function breakPlanner(pool: FakePool): () => void {
  const { windows } = pool.rules;
  Object.assign(pool.rules, { windows: 7 });
  return () => void Object.assign(pool.rules, { windows });
}

function haltsOf(pool: FakePool): string[] {
  return pool.events.filter(({ reason }) => reason === "InternalError").map(({ message }) => message);
}

test("rollOutMachineDeployment: halts visibly when its own code throws again and again", async (stage) => {
  const pool = await stage.grownPool();
  const mend = breakPlanner(pool);
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines });
  const { message } = await stage.sees(pool, "a halt", ({ reason }) => reason === "InternalError");
  match(message, /^Internal error, 3 times in a row: TypeError: /);
  await eventually("a report", () => pool.reports.at(-1)?.blockedReason === "InternalError");
  mend();
  await stage.ask(pool, "retry", { by: "ada" });
  const result = await handle.result();
  deepEqual([result.outcome, result.replaced], ["Converged", 3]);
  deepEqual(haltsOf(pool).length, 1);
  deepEqual(pool.violations, []);
});

test("rollOutMachineDeployment: continues by itself when an internal error does not recur", async (stage) => {
  const pool = await stage.grownPool();
  const mend = breakPlanner(pool);
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines });
  await pause(300);
  mend();
  deepEqual([(await handle.result()).outcome, haltsOf(pool)], ["Converged", []]);
});

test("rollOutMachineDeployment: halts when a step fails with an internal error, and continues after a signal", async (stage) => {
  const pool = await stage.grownPool();
  let isBroken = true;
  pool.before["ensureVictimMarked"] = () => {
    if (isBroken) throw ApplicationFailure.nonRetryable("Cannot do it: a fault", "InternalError");
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines });
  await stage.stands(handle, "Halted", "InternalError");
  isBroken = false;
  await stage.tell(pool);
  equal((await handle.result()).outcome, "Converged");
});

test("rollOutMachineDeployment: treats an unknown failure as an internal error, not as an outage", async (stage) => {
  const pool = await stage.grownPool();
  let isBroken = true;
  pool.before["readPool"] = () => {
    if (isBroken) throw ApplicationFailure.nonRetryable("x is not a function", "TypeError");
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines });
  const { message } = await stage.stands(handle, "Halted", "InternalError");
  equal(message, 'Activity failed with error type "TypeError": x is not a function');
  isBroken = false;
  await stage.tell(pool);
  equal((await handle.result()).outcome, "Converged");
});

test("rollOutMachineDeployment: a command to a run that throws before its first read is executed by the next run, or refused", async (stage) => {
  const pool = await stage.grownPool();
  pool.isControllerDown = true;
  pool.change({ image: "image-2" });
  // An invalid value, which no version of Ostler writes: the first status page of the run throws because of it, and the
  // next run continues without the value.
  Object.assign(pool.rollout, { quarantine: 7 });
  const answer = Promise.withResolvers<string>();
  pool.before["recall"] = async () => {
    delete pool.before["recall"];
    stage.ask(pool, "skip", { machine: pool.nth(1) }).then(({ message }) => message, whyRefused).then(answer.resolve);
    await stage.client.workflow.getHandle(pool.holder).signal("pauseRequested", { by: "ada" });
    await pause(300);
  };
  const handle = await stage.rollOut(pool, { deadlines });
  match(
    await answer.promise,
    /^Cannot skip: an internal error ended the run .*: TypeError: .*; send the command again$/,
  );
  pool.unblock();
  equal((await stage.stands(handle, "Rolling", "Paused")).pausedBy?.by, "ada");
  await stage.ask(pool, "resume");
  equal((await handle.result()).replaced, 3);
});

test("rollOutMachineDeployment: a run that is cancelled before its first read removes the holds and marks of the previous run", async (stage) => {
  const pool = await stage.grownPool();
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines });
  await eventually("a drain", () => pool.count("awaitNodeDrained") >= 1);
  const mend = breakPlanner(pool);
  await stage.tell(pool);
  await stage.sees(pool, "a halt", ({ reason }) => reason === "InternalError");
  mend();
  await stage.client.workflow.getHandle(pool.holder).cancel();
  await rejects(handle.result());
  deepEqual(pool.machines.filter(({ ready, hold, mark }) => ready && (hold || mark)), []);
});
