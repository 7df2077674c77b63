/** Failed machines that are to be recreated: a failed machine never counts as passed, and its failure counts once. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_activities.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns, gateOf } from "../support/pool_checks.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Stage } from "../support/workflow_stage.ts";

const test = onStage();

/** A pool of three with a changed image; machine 4, the first new one, becomes Ready and then fails its gate. */
async function poolWithBadNewcomer(stage: Stage): Promise<FakePool> {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachMachine")] } });
  pool.verdict = (_, machine) => machine === pool.nth(4) ? "Failed" : "Passed";
  pool.change({ image: "image-2" });
  return pool;
}

/** Asserts that no node was drained before the gates of machine 5, the second new one, were evaluated. */
function assertNoneDrainedFor4(pool: FakePool): void {
  const drained = pool.calls.findIndex((call) => call.startsWith("awaitNodeDrained "));
  const judged = pool.calls.indexOf(`awaitGates ${pool.nth(5)}`);
  ok(
    judged >= 0 && judged < drained,
    `Expected the drain at call ${drained} to follow the gates of the next machine at call ${judged}`,
  );
}

test("recreate: a machine that failed its gate and cannot be deleted at first does not count as passed", async (stage) => {
  const pool = await poolWithBadNewcomer(stage);
  pool.before["deleteMachine"] = (times) => {
    if (times === 1) throw failure("ObjectInvalid", "Failed to delete the machine: a webhook refuses it");
  };
  const handle = await stage.rollOut(pool);
  equal((await handle.result()).outcome, "Converged");
  deepEqual(pool.subjects("deleteMachine"), [pool.nth(4), pool.nth(4)]);
  assertNoneDrainedFor4(pool);
  assertRuns(pool, "image-2");
  assertOrderly(pool);
});

test("recreate: a machine that failed its gate does not count as passed while it is being deleted", async (stage) => {
  const pool = await poolWithBadNewcomer(stage);
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  pool.before["deleteMachine"] = () => answered;
  const handle = await stage.rollOut(pool);
  try {
    await eventually("a deletion under way", () => pool.count("deleteMachine") === 1);
    const looks = pool.count("readPool");
    await stage.tell(pool);
    await eventually("a read meanwhile", () => pool.count("readPool") > looks);
    await stage.sees(pool, "what was seen", ({ counts }) => counts?.updated === 1 && counts.updatedReady === 0);
  } finally {
    answer();
  }
  await handle.result();
  assertNoneDrainedFor4(pool);
  assertOrderly(pool);
});

test("recreate: a machine that failed its last attempt counts as failed once, however often its deletion is tried", async (stage) => {
  const pool = await poolWithBadNewcomer(stage);
  Object.assign(pool.rules, { maxFailed: 2, join: { ...pool.rules.join, attempts: 0 } });
  pool.before["deleteMachine"] = (times) => {
    if (times < 3) throw failure("ObjectInvalid", "Failed to delete the machine: a webhook refuses it");
  };
  const handle = await stage.rollOut(pool);
  await eventually("the third try", () => pool.count("deleteMachine") === 3);
  equal((await handle.result()).outcome, "Converged");
  equal(pool.history.at(-1)?.failed, 1);
  deepEqual(pool.rollout.quarantine, []);
});

test("retry: counts the failure of a machine in deletion once", async (stage) => {
  const pool = await poolWithBadNewcomer(stage);
  pool.rules.join.attempts = 1;
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  pool.before["deleteMachine"] = (times) => times === 1 ? answered : undefined;
  pool.verdict = (_, machine) => [4, 6].some((nth) => machine === pool.nth(nth)) ? "Failed" : "Passed";
  const handle = await stage.rollOut(pool);
  await eventually("a deletion under way", () => pool.count("deleteMachine") === 1);
  await stage.ask(pool, "retry");
  answer();
  equal((await handle.result()).outcome, "Converged");
  assertRuns(pool, "image-2");
  deepEqual(pool.rollout.quarantine, []);
});
