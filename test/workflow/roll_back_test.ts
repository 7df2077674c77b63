/** The fields `onFailure`, `maxFailed` and `join.attempts`: a failing change is abandoned, recorded and held. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_activities.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns, gateOf, inMs } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Stage } from "../support/workflow_stage.ts";

const test = onStage();

/** Far longer than a healthy machine takes here, and short enough to wait for. */
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

test("fault E3: an edit of the profile does not make a rollback a paced rollout, nor does a terminated run", async (stage) => {
  for (const onProfileChange of ["NewMachinesOnly", "Roll"] as const) {
    const waves = [{ upTo: 2, soak: 0 }, { upTo: "100%", soak: 0 }];
    const gates = [gateOf("EachWave")];
    const pool = await stage.grownPool({ rules: { waves, gates, onFailure: "Rollback", onProfileChange } });
    pool.verdict = () => pool.template.image === "image-2" ? "Failed" : "Passed";
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    pool.before["ensureLastGoodRestored"] = () => {
      // A paced rollout would wait for this window.
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
    // The run may have begun with the edited profile by now, for which machine-controller creates a held machine.
    const unheld = pool.machines.filter(({ hold }) => hold === "");
    deepEqual(unheld.map(({ set }) => set.image), Array(pool.replicas).fill("image-1"));
    deepEqual(pool.events.filter(({ reason }) => reason === "RollbackLeft"), []);
    // After the rollback the edited profile is a change of its own: with Roll it waits for the window like any rollout.
    if (onProfileChange === "NewMachinesOnly") equal((await next.result()).outcome, "Converged");
    else await stage.stands(next, "Rolling", "OutsideWindow");
    if (onProfileChange === "Roll") await next.cancel();
  }
});

test("fault E3: the abandoned template is reverted during its rollback whatever profile it has", async (stage) => {
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

test("onFailure: Rollback admits no new machine of the bad change, even if it is abandoned while the pool is read", async (stage) => {
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

test("onFailure: a failed change is not the last good one after its failed machine is deleted", async (stage) => {
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
  // The bad image is applied again before a new machine of the good image exists, because a machine that has not joined
  // would make room for one of the bad image.
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
    // A later stage never ends before an earlier one.
    for (const earlier of joinStages.slice(0, joinStages.indexOf(joinStage) + 1)) pool.rules.join[earlier] = 1000;
    pool.change({ image: "image-2" });
    const deadlines = { instance: "1h", address: "1h", registered: "1h", ready: "1h" };
    equal((await (await stage.rollOut(pool, { deadlines })).result()).replaced, 1);
    deepEqual(pool.subjects("deleteMachine"), [pool.nth(2)]);
    const [event] = pool.events.filter(({ reason }) => reason === "JoinDeadlineExceeded");
    match(event?.message ?? "", new RegExp(`"${joinStage}"`));
  });
}

test("onFailure: a rollback that is terminated leaves no machine of the good template held", async (stage) => {
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
