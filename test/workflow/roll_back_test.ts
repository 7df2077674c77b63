/**
 * The fields `onFailure`, `maxFailed` and `join.attempts`: a change that fails is abandoned, recorded, and kept in
 * quarantine.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_activities.ts";
import { hashOf } from "../support/fake_machine.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { recall } from "../support/fake_rollout.ts";
import { assertOrderly, assertRuns, gateOf, inMs } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";
import type { CarriedState } from "../../workflows/contracts/mod.ts";

const test = onStage();

/** Deadlines far longer than a healthy machine takes to join here, and short enough for a test to wait for. */
const short = { ...testDeadlines, instance: 1000, address: 1000, registered: 1000, ready: 1000, recheck: "1h" };

/** A pool that rolls back by policy, and whose machines of "image-2" never join. */
async function poolWithBadImage(stage: Stage): Promise<FakePool> {
  const pool = await stage.grownPool({ rules: { onFailure: "Rollback" } });
  pool.rules.join.attempts = 1;
  pool.fate = (_, image) => image === "image-2" ? "registered" : "joins";
  return pool;
}

test("onFailure: Rollback returns to the last good template, and reports actor and reason", async (stage) => {
  const pool = await poolWithBadImage(stage);
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool, { deadlines: short })).result();
  deepEqual([result.outcome, result.image, pool.template.image], ["RolledBack", "image-1", "image-1"]);
  deepEqual(pool.numbers(), [1, 2, 3]);
  assertOrderly(pool);
  const entry = pool.history.at(-1);
  deepEqual([entry?.outcome, entry?.image, entry?.actor], ["RolledBack", "image-2", "policy"]);
  match(entry?.reason ?? "", /registered/);
  const { phase, conditions = [] } = pool.reports.at(-1) ?? {};
  equal(phase, "RolledBack");
  equal(conditions.find(({ type }) => type === "RolledBack")?.status, "True");
  deepEqual(pool.rollout.quarantine.map(({ image }) => image), ["image-2"]);
});

test("onFailure: Rollback replaces updated machines again, one by one", async (stage) => {
  const waves = [{ upTo: 2, soak: 0 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")], onFailure: "Rollback" } });
  pool.verdict = () => "Failed";
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool)).result();
  deepEqual([result.outcome, pool.watch.mostChanging], ["RolledBack", 1]);
  assertRuns(pool, "image-1");
  ok(pool.numbers().includes(3), "Expected the untouched machine to exist");
  assertOrderly(pool);
});

test("fault E3: neither an edit of the profile nor a terminated run makes a rollback wait as a paced rollout does", async (stage) => {
  for (const onProfileChange of ["NewMachinesOnly", "Roll"] as const) {
    const waves = [{ upTo: 2, soak: 0 }, { upTo: "100%", soak: 0 }];
    const gates = [gateOf("EachWave")];
    const pool = await stage.grownPool({ rules: { waves, gates, onFailure: "Rollback", onProfileChange } });
    pool.verdict = () => pool.template.image === "image-2" ? "Failed" : "Passed";
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    pool.before["ensureLastGoodRestored"] = () => {
      // A paced rollout would wait for this window; a rollback must not wait.
      pool.rules.windows = [{ from: inMs(3_600_000), to: inMs(7_200_000) }];
    };
    pool.after["ensureLastGoodRestored"] = async () => {
      delete pool.after["ensureLastGoodRestored"];
      await handle.terminate("by hand");
    };
    await eventually("the rollback", () => pool.template.image === "image-1");
    await eventually("the end of the run", async () => (await handle.describe()).status.name === "TERMINATED");
    pool.profileVersion = 2;
    const next = await stage.rollOut(pool);
    const isEnded = (): boolean => pool.history.some(({ outcome }) => outcome === "RolledBack");
    await eventually("the end of the rollback", isEnded);
    // By now the run may already roll out the edited profile, whose first new machine is held, so only machines without
    // a hold are compared.
    const unheld = pool.machines.filter(({ hold }) => hold === "");
    deepEqual(unheld.map(({ set }) => set.image), Array(pool.replicas).fill("image-1"));
    deepEqual(pool.events.filter(({ reason }) => reason === "RollbackLeft"), []);
    // After the rollback, the edited profile is a change of its own: with `onProfileChange: Roll`, its rollout waits
    // for the window.
    if (onProfileChange === "NewMachinesOnly") equal((await next.result()).outcome, "Converged");
    else await stage.stands(next, "Rolling", "OutsideWindow");
    if (onProfileChange === "Roll") await next.cancel();
  }
});

test("fault E3: a rollback reverts the abandoned template even if its profile is edited as the rollback begins", async (stage) => {
  const pool = await poolWithBadImage(stage);
  pool.change({ image: "image-2" });
  let times = 0;
  pool.before["ensureLastGoodRestored"] = () => {
    if (times++ > 0) return;
    pool.profileVersion = 2;
    throw failure("GenerationStale", "Failed to restore: the pool has changed");
  };
  const result = await (await stage.rollOut(pool, { deadlines: short })).result();
  deepEqual([result.outcome, pool.images(), pool.profileVersion], ["RolledBack", Array(3).fill("image-1"), 1]);
  deepEqual(pool.rollout.quarantine.map(({ specHash }) => specHash.slice(-3)), ["-p1", "-p2"]);
  deepEqual(pool.events.filter(({ reason }) => reason === "RollbackLeft"), []);
});

test("onFailure: Rollback admits no new machine of the bad change, even if the change is abandoned while the pool is read", async (stage) => {
  const waves = [{ upTo: 1, soak: 0 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")], onFailure: "Rollback" } });
  let isLeft = false;
  const images: (string | undefined)[] = [];
  pool.before["ensureMachineAdmitted"] = () => {
    images.push(pool.find(pool.subjects("ensureMachineAdmitted").at(-1) ?? "")?.set.image);
  };
  pool.verdict = () => "Failed";
  pool.before["awaitGates"] = async () => {
    const reads = pool.count("readPool");
    // The answer of the next read is delayed until the change is abandoned.
    pool.after["readPool"] = async () => {
      delete pool.after["readPool"];
      await stage.sees(pool, "the rollback", ({ rollBack }) => rollBack !== null && rollBack !== undefined);
      isLeft = true;
    };
    await stage.tell(pool);
    await eventually("one more look", () => pool.count("readPool") > reads);
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  equal((await handle.result()).outcome, "RolledBack");
  ok(isLeft);
  equal(images.filter((image) => image === "image-2").length, 1);
  assertRuns(pool, "image-1");
  assertOrderly(pool);
});

test("onFailure: a failed change does not become the last good one when its failed machine is deleted", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.join.attempts = 0;
  pool.fate = () => "registered";
  pool.profileVersion = 2;
  pool.change({ replicas: 4 });
  const handle = await stage.rollOut(pool, { deadlines: short });
  await stage.stands(handle, "Halted", "Quarantined");
  const good = pool.rollout.lastGood?.specHash;
  const looks = pool.count("readPool");
  pool.machines = pool.machines.filter(({ ready }) => ready);
  pool.change({ replicas: 3 });
  await stage.tell(pool);
  await eventually("another look", () => pool.count("readPool") > looks);
  await stage.stands(handle, "Halted", "Quarantined");
  equal(pool.rollout.lastGood?.specHash, good);
  await handle.cancel();
});

test("onFailure: a failed change is held when it is applied again, and no machine is touched", async (stage) => {
  const pool = await poolWithBadImage(stage);
  pool.change({ image: "image-2" });
  await (await stage.rollOut(pool, { deadlines: short })).result();
  pool.calls.length = 0;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: short });
  const { message } = await stage.stands(handle, "Halted", "Quarantined");
  match(message, /image-2/);
  deepEqual(pool.writes(), []);
  deepEqual(pool.machines.filter(({ ready }) => ready).map(({ created }) => created), [1, 2, 3]);
  pool.change({ image: "image-3" });
  await stage.tell(pool);
  equal((await handle.result()).image, "image-3");
  assertRuns(pool, "image-3");
});

test("retry: takes a change out of quarantine", async (stage) => {
  const pool = await poolWithBadImage(stage);
  pool.change({ image: "image-2" });
  await (await stage.rollOut(pool, { deadlines: short })).result();
  pool.fate = () => "joins";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: short });
  await stage.stands(handle, "Halted", "Quarantined");
  await stage.ask(pool, "retry", { by: "somebody", reason: "the registry is back" });
  equal((await handle.result()).outcome, "Converged");
  deepEqual([pool.rollout.quarantine, pool.images()], [[], Array(3).fill("image-2")]);
  assertOrderly(pool);
});

test("onFailure: the rollback admits no machine of the bad change when the bad change is applied again", async (stage) => {
  const waves = [{ upTo: 2, soak: 0 }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")], onFailure: "Rollback" } });
  pool.verdict = () => "Failed";
  pool.change({ image: "image-2" });
  let [admitted, times] = [0, 0];
  // The bad image is applied again before a new machine of the good image exists. If that machine existed and had not
  // joined, a machine of the bad image would take its place.
  pool.before["readPool"] = async () => {
    if (times === 3 || pool.count("ensureLastGoodRestored") === 0 || pool.template.image === "image-2") return;
    if (times++ === 0) admitted = pool.count("ensureMachineAdmitted");
    pool.change({ image: "image-2" });
    await stage.tell(pool);
  };
  const handle = await stage.rollOut(pool);
  equal((await handle.result()).outcome, "RolledBack");
  assertRuns(pool, "image-1");
  // The rollback admitted two machines of the good image, each once, and no machine of the bad image.
  deepEqual([times, pool.count("ensureMachineAdmitted") - admitted], [3, 2]);
  assertOrderly(pool);
});

test("onFailure: a change that a person applies just before the bad change is rolled back is rolled out, not replaced", async (stage) => {
  const pool = await poolWithBadImage(stage);
  pool.change({ image: "image-2" });
  pool.before["ensureLastGoodRestored"] = () => {
    if (pool.template.image === "image-2") pool.change({ image: "image-3" });
  };
  const result = await (await stage.rollOut(pool, { deadlines: short })).result();
  deepEqual([result.outcome, pool.template.image], ["Converged", "image-3"]);
  deepEqual(pool.events.filter(({ reason }) => reason === "RollbackLeft").length, 1);
  assertRuns(pool, "image-3");
  assertOrderly(pool);
});

/** Starts a run that continues a rollback from "image-2", which was applied again thirty times. */
async function rollingBack(stage: Stage, pool: FakePool): Promise<Handle> {
  pool.change({ image: "image-2" });
  const templateHash = hashOf(pool.template);
  const bad = { templateHash, specHash: `${templateHash}-p1`, revision: "2", image: "image-2", kubelet: "1.35.3" };
  const why = { kind: "RollBack", by: "policy", reason: "GateFailed", since: Date.now() };
  const { paused: _, ...memory } = recall(pool);
  const rollback = { ...why, bad: { ...why, ...bad }, reapplied: 30 };
  const carried = { schemaVersion: 1, memory: { ...memory, recalled: true, rollback } };
  return await stage.rollOut(pool, { carried: carried as unknown as CarriedState });
}

test("onFailure: a rollback ends once the API accepts its write, however often the write failed before", async (stage) => {
  const pool = await stage.grownPool();
  const failures = [failure("ApiUnavailable", "HTTP 500: a webhook failed"), failure("AccessDenied", "HTTP 403")];
  pool.before["ensureLastGoodRestored"] = () => {
    const refusal = failures.shift();
    if (refusal) throw refusal;
  };
  equal((await (await rollingBack(stage, pool)).result()).outcome, "RolledBack");
  equal(pool.count("ensureLastGoodRestored"), 3);
  assertRuns(pool, "image-1");
});

test("onFailure: a rollback halts when the failed change is applied again too often", async (stage) => {
  const pool = await stage.grownPool();
  pool.after["ensureLastGoodRestored"] = () => Promise.resolve(pool.change({ image: "image-2" }));
  const handle = await rollingBack(stage, pool);
  await stage.stands(handle, "Halted", "SpecReapplied");
  equal(pool.count("ensureLastGoodRestored"), 1);
  await handle.cancel();
});

test("onFailure: the failures of an abandoned change do not count for the change that ends its rollback, even if a report fails", async (stage) => {
  const pool = await stage.grownPool({ rules: { onFailure: "Rollback", maxFailed: 2 } });
  pool.rules.join.attempts = 1;
  const failed = new Set<number>();
  // A machine of "image-3" and the machine that is created in its place fail, which is one failure for `maxFailed`.
  pool.fate = (nth, image) => {
    if (image === "image-3" && failed.size < 2) failed.add(nth);
    return image === "image-2" || failed.has(nth) ? "registered" : "joins";
  };
  pool.before["ensureLastGoodRestored"] = () => {
    if (pool.template.image === "image-3") return;
    pool.change({ image: "image-3" });
    throw failure("GenerationStale", "Failed to restore: the pool has changed");
  };
  let isAway = true;
  pool.before["ensureRolloutReported"] = () => {
    if (pool.template.image !== "image-3" || !isAway) return;
    isAway = false;
    throw failure("ApiUnavailable", "HTTP 503");
  };
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool, { deadlines: short })).result();
  deepEqual([isAway, result.outcome, result.image], [false, "Converged", "image-3"]);
  deepEqual(pool.rollout.quarantine.map(({ image }) => image), ["image-2"]);
});

test("onFailure: a pool whose last good template is lost reports the loss, and keeps the bad change quarantined", async (stage) => {
  const pool = await poolWithBadImage(stage);
  pool.before["ensureLastGoodRestored"] = () => {
    throw failure("LastGoodMissing", "Failed to roll back: no MachineSet has the last good template");
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: short });
  await stage.stands(handle, "Halted", "Quarantined");
  const told = pool.events.find(({ reason }) => reason === "LastGoodMissing");
  match(`${told?.type} ${told?.message}`, /Warning Failed to roll back/);
  deepEqual(pool.machines.filter(({ ready }) => ready).map(({ created }) => created), [1, 2, 3]);
  await handle.cancel();
});

test("maxFailed: allows single machines to fail before the change is given up", async (stage) => {
  const pool = await stage.grownPool({ rules: { maxFailed: 2 } });
  pool.rules.join.attempts = 1;
  pool.fate = (nth) => nth === 4 || nth === 5 ? "registered" : "joins";
  pool.change({ image: "image-2" });
  const result = await (await stage.rollOut(pool, { deadlines: short })).result();
  deepEqual([result.outcome, result.replaced, pool.rollout.quarantine], ["Converged", 3, []]);
  assertOrderly(pool);
});

test("join.attempts: is how often a machine is recreated", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.join.attempts = 3;
  pool.fate = () => "registered";
  Object.assign(pool.rules.join, { instance: 1000, address: 1000, registered: 1000 });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: "1h" } });
  await stage.stands(handle, "Halted", "Quarantined");
  equal(pool.count("deleteMachine"), 3);
  await handle.cancel();
});

const joinStages = ["instance", "address", "registered", "ready"] as const;

for (const joinStage of joinStages) {
  test(`join.${joinStage}: is the deadline of that join stage`, async (stage) => {
    const pool = await stage.grownPool({ replicas: 1 });
    pool.fate = (nth) => nth === 2 ? joinStage : "joins";
    // The deadline of a stage is never before that of an earlier stage, so the earlier deadlines are shortened too.
    for (const earlier of joinStages.slice(0, joinStages.indexOf(joinStage) + 1)) pool.rules.join[earlier] = 1000;
    pool.change({ image: "image-2" });
    const deadlines = { instance: "1h", address: "1h", registered: "1h", ready: "1h" };
    equal((await (await stage.rollOut(pool, { deadlines })).result()).replaced, 1);
    deepEqual(pool.subjects("deleteMachine"), [pool.nth(2)]);
    const [event] = pool.events.filter(({ reason }) => reason === "JoinDeadlineExceeded");
    match(event?.message ?? "", new RegExp(`"${joinStage}"`));
  });
}

test("onFailure: a rollback that is cancelled, or terminated and started again, leaves no machine of the good template held", async (stage) => {
  for (const end of ["cancel", "terminate"] as const) {
    const pool = await poolWithBadImage(stage);
    pool.change({ image: "image-2" });
    const good = pool.convergedHash;
    pool.before["ensureLastGoodRestored"] = () => {
      throw failure("ApiUnavailable", "Failed to restore: HTTP 503");
    };
    const handle = await stage.rollOut(pool, { deadlines: short });
    await eventually("the rollback", () => pool.convergedHash === "rolling-back");
    await handle[end]();
    delete pool.before["ensureLastGoodRestored"];
    const next = end === "terminate" ? await stage.rollOut(pool, { deadlines: short }) : undefined;
    await eventually("the good template again", () => pool.convergedHash === good);
    if (next) equal((await next.result()).outcome, "RolledBack");
  }
});
