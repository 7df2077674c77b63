/** Failed machines that are to be recreated: a failed machine never counts as passed, and its failure counts once. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_activities.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns, gateOf } from "../support/pool_checks.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage();

/** A pool of three with a changed image; machine 4, the first new one, becomes Ready and then fails its gate. */
async function poolWithBadNewcomer(stage: Stage): Promise<FakePool> {
  const pool = await stage.grownPool({ rules: { gates: [gateOf("EachMachine")] } });
  pool.verdict = (_, machine) => machine === pool.nth(4) ? "Failed" : "Passed";
  pool.change({ image: "image-2" });
  return pool;
}

/** Asserts that no node was drained before the gates of another new machine than machine 4 were evaluated. */
function assertNoneDrainedFor4(pool: FakePool): void {
  const drained = pool.calls.findIndex((call) => call.startsWith("awaitNodeDrained "));
  const judged = pool.calls.findIndex((call) => call.startsWith("awaitGates ") && call !== `awaitGates ${pool.nth(4)}`);
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

/** Lets another controller delete each machine that does not join, shortly after it began to boot. */
function deleteUnjoined(pool: FakePool): void {
  pool.fate = () => "registered";
  pool.before["awaitMachinesJoined"] = () => {
    const [booting] = pool.machines.filter(({ booted, ready }) => booted && !ready);
    setTimeout(() => {
      pool.machines = pool.machines.filter((machine) => machine !== booting);
      pool.touch();
    }, 100);
  };
}

/** Rolls a pool of three until machine 4, the first new one, boots; it does not join. */
async function whileJoining(stage: Stage): Promise<{ pool: FakePool; handle: Handle }> {
  const pool = await stage.grownPool();
  pool.fate = (nth) => nth === 4 ? "registered" : "joins";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  return { pool, handle };
}

function deleteFourth(pool: FakePool): void {
  pool.machines = pool.machines.filter(({ created }) => created !== 4);
}

test("rollOutMachineDeployment: plans again immediately when a joining machine is deleted, which counts as one attempt", async (stage) => {
  const { pool, handle } = await whileJoining(stage);
  deleteFourth(pool);
  pool.touch();
  equal((await handle.result()).replaced, 3);
  const told = `Machine "${pool.nth(4)}" was deleted before it joined; recreating the machine, attempt 1 of 2`;
  deepEqual(pool.events.filter(({ type }) => type === "Warning").map(({ reason, message }) => [reason, message]), [
    ["DeletedBeforeJoin", told],
  ]);
  assertOrderly(pool);
});

test("recreate: gives a change up if another controller deletes each of its machines before they join", async (stage) => {
  const pool = await stage.grownPool();
  deleteUnjoined(pool);
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Halted", "Quarantined");
  const reasons = pool.events.filter(({ type }) => type === "Warning").map(({ reason }) => reason);
  equal(reasons.filter((reason) => reason === "DeletedBeforeJoin").length, 3);
  deepEqual([pool.count("ensureMachineAdmitted"), pool.count("deleteMachine")], [3, 0]);
  equal(pool.machines.filter(({ ready }) => ready).length, 3);
  await handle.cancel();
});

test("recreate: a machine that a scale-down deletes before it joins counts as no attempt", async (stage) => {
  const { pool, handle } = await whileJoining(stage);
  deleteFourth(pool);
  pool.change({ replicas: 2 });
  await stage.tell(pool);
  equal((await handle.result()).outcome, "Converged");
  deepEqual(pool.events.filter(({ type }) => type === "Warning"), []);
});

test("recreate: a new machine that was held for too long is recreated, and counts as no attempt", async (stage) => {
  const pool = await stage.grownPool();
  pool.isHeldTooLong = (nth) => nth === 4 || nth === 6;
  pool.change({ image: "image-2", replicas: 4 });
  const handle = await stage.rollOut(pool);
  equal((await handle.result()).outcome, "Converged");
  const recreated = pool.events.filter(({ reason }) => reason === "HeldMachineRecreated");
  deepEqual(recreated.map(({ message }) => message.split(",")[0]), [
    `Recreating machine "${pool.nth(4)}"`,
    `Recreating machine "${pool.nth(6)}"`,
  ]);
  deepEqual(pool.events.filter(({ type }) => type === "Warning"), []);
  assertRuns(pool, "image-2");
});

test("recreate: a held machine that is deleted before its admission counts as no attempt", async (stage) => {
  const pool = await stage.grownPool();
  pool.before["ensureMachineAdmitted"] = (times) => {
    if (times > 1) return;
    deleteFourth(pool);
    pool.touch();
  };
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 3);
  deepEqual(pool.events.filter(({ type }) => type === "Warning"), []);
});

test("recreate: a rollback halts if another controller deletes each machine of the last good change", async (stage) => {
  const waves = [{ upTo: 1, soak: 0 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")], onFailure: "Rollback" } });
  pool.verdict = () => pool.template.image === "image-2" ? "Failed" : "Passed";
  pool.before["ensureLastGoodRestored"] = () => deleteUnjoined(pool);
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Halted", "JoinAttemptsExhausted");
  equal(pool.events.filter(({ reason }) => reason === "DeletedBeforeJoin").length, 3);
  await handle.cancel();
});

test("recreate: a machine is admitted at any age once recreating machines does not help", async (stage) => {
  const pool = await stage.grownPool();
  pool.isHeldTooLong = () => true;
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 3);
  const recreated = pool.events.filter(({ reason }) => reason === "HeldMachineRecreated").length;
  ok(recreated >= 3 && recreated <= 12, `Expected at most 4 recreated machines for each replacement, not ${recreated}`);
});

test("recreate: a machine counts as no attempt when its pool grows and a scale-down then deletes it", async (stage) => {
  const { pool, handle } = await whileJoining(stage);
  pool.change({ replicas: 5 });
  await stage.tell(pool);
  await stage.sees(pool, "the larger pool", ({ counts }) => (counts?.machines ?? 0) >= 5);
  deleteFourth(pool);
  pool.change({ replicas: 4 });
  await stage.tell(pool);
  equal((await handle.result()).outcome, "Converged");
  deepEqual(pool.events.filter(({ type }) => type === "Warning"), []);
});
