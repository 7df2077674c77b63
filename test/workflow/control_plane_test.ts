/**
 * Control planes are replaced one at a time, and none while etcd has a problem. Before a drain, the control plane gives
 * up the leadership of etcd.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { EtcdDoubt, EtcdStanding } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns, budgetOf } from "../support/pool_checks.ts";
import { onStage, type Stage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();
const silent = 'member "cp-9" does not answer: timeout';
const patient = { deadlines: { ...testDeadlines, recheck: 60_000 } };

function standing(...doubts: (string | EtcdDoubt)[]): EtcdStanding {
  const told = doubts.map((doubt) => typeof doubt === "string" ? { says: doubt } : doubt);
  return { seats: [], quorum: { needed: 2, well: told.length > 0 ? 2 : 3 }, doubts: told };
}

/**
 * A group of three control planes with a healthy etcd; its rules are those for control planes, which no policy changes.
 */
async function controlPlanes(stage: Stage): Promise<FakePool> {
  const pool = await stage.grownPool({ rules: { budget: budgetOf(1, { cluster: 1 }) } });
  pool.etcd = standing();
  return pool;
}

function doubt(pool: FakePool, ...doubts: (string | EtcdDoubt)[]): void {
  pool.etcd = standing(...doubts);
  pool.touch();
}

test("control planes: are replaced one by one, each with an etcd snapshot and without etcd leadership before it is cordoned", async (stage) => {
  const pool = await controlPlanes(stage);
  pool.snapshot = { digest: "sha256:aa", bytes: 5, at: "/var/backups/etcd/cp.db" };
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 3);
  assertRuns(pool, "image-2");
  assertOrderly(pool);
  const steps = pool.calls.filter((call) => /^(awaitMachineRelieved|ensureNodeCordoned) /.test(call));
  deepEqual(
    steps.map((call) => call.split(" ")[0]),
    Array(3).fill(["awaitMachineRelieved", "ensureNodeCordoned"]).flat(),
  );
  deepEqual(
    steps.filter((_, nth) => nth % 2 === 0).map((call) => call.split(" ")[1]),
    [1, 2, 3].map((n) => pool.nth(n)),
  );
  const kept = pool.events.filter(({ reason }) => reason === "EtcdSaved").map(({ message }) => message);
  equal(kept.length, 3);
  match(kept[0] ?? "", /etcd snapshot of 5 bytes at \/var\/backups\/etcd\/cp.db before .*: sha256:aa/);
});

test("control planes: a Warning is reported for each replacement without an etcd snapshot", async (stage) => {
  const pool = await controlPlanes(stage);
  pool.change({ image: "image-2" });
  await (await stage.rollOut(pool)).result();
  equal(pool.events.filter(({ reason, type }) => reason === "EtcdNotSaved" && type === "Warning").length, 3);
});

test("K27 control planes: no machine is admitted or drained while etcd has a problem, and the rollout continues by itself", async (stage) => {
  const pool = await controlPlanes(stage);
  doubt(pool, silent, "alarm NOSPACE is raised for member cp-2");
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  const { message } = await stage.stands(handle, "Rolling", "EtcdInDoubt");
  equal(message, `${silent}; and 1 more`);
  equal(pool.count("ensureMachineAdmitted"), 0);
  deepEqual((await stage.progress(handle)).etcd?.doubts.length, 2);
  doubt(pool);
  equal((await handle.result()).replaced, 3);
});

test("K27 control planes: the old machine stays while the etcd member of the new, Ready machine is unhealthy", async (stage) => {
  const pool = await controlPlanes(stage);
  pool.before["awaitMachineRelieved"] = (times) => {
    if (times === 1) doubt(pool, 'member "cp-4" is a learner, without a vote yet');
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: 300 } });
  await eventually(
    "a warning",
    () =>
      pool.events.some(({ reason, message }) =>
        reason === "EtcdInDoubt" && /^Keeping machine ".*" unchanged: member "cp-4" is a learner/.test(message)
      ),
  );
  deepEqual([pool.count("ensureNodeCordoned"), pool.count("ensureVictimReleased")], [0, 0]);
  doubt(pool);
  equal((await handle.result()).replaced, 3);
});

test("promote: on the request of a person, ignores the present problem of etcd, and no later problem", async (stage) => {
  const pool = await controlPlanes(stage);
  doubt(pool, silent);
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  await stage.stands(handle, "Rolling", "EtcdInDoubt");
  pool.after["awaitMachinesJoined"] = () => Promise.resolve(doubt(pool, silent, "etcd has no leader"));
  await handle.executeUpdate("promote", { args: [{ by: "ada", reason: "cp-9 is scrapped" }] });
  await eventually("the other problem", async () => (await stage.progress(handle)).message === "etcd has no leader");
  ok(pool.events.some(({ reason, message }) => reason === "DoubtsTaken" && message.includes("as requested by ada")));
  equal(pool.count("ensureVictimReleased"), 0);
  delete pool.after["awaitMachinesJoined"];
  doubt(pool, silent);
  equal((await handle.result()).replaced, 3);
});

test("control planes: a lost machine is replaced only when its own etcd member is the only one that does not respond", async (stage) => {
  const pool = await controlPlanes(stage);
  pool.sicken(2);
  doubt(pool, { says: silent }, { machine: pool.nth(2), says: "member of the lost one does not answer" });
  const handle = await stage.rollOut(pool, patient);
  await stage.sees(pool, "a look", ({ etcd }) => etcd?.doubts.length === 2);
  equal(pool.count("deleteMachine"), 0);
  pool.after["deleteMachine"] = () => Promise.resolve(doubt(pool));
  doubt(pool, { machine: pool.nth(2), says: "member of the lost one does not answer" });
  equal((await handle.result()).outcome, "Converged");
  deepEqual(pool.subjects("deleteMachine"), [pool.nth(2)]);
});

test("control planes: two groups share one slot, from a budget separate from other pools", async (stage) => {
  const [one, two] = [await controlPlanes(stage), await controlPlanes(stage)];
  for (const pool of [one, two]) pool.change({ image: "image-2" });
  Object.assign(stage.activities.slots, { most: 0, budgets: [] });
  const handles = [await stage.rollOut(one), await stage.rollOut(two)];
  for (const handle of handles) equal((await handle.result()).replaced, 3);
  deepEqual([stage.activities.slots.most, stage.activities.slots.budgets], [1, ["ControlPlanes"]]);
});

test("fault E8: control planes: a repair takes a free slot, and continues without a slot when another machine has it", async (stage) => {
  const [one, two] = [await controlPlanes(stage), await controlPlanes(stage)];
  const held: number[] = [];
  for (const pool of [one, two]) {
    pool.sicken(2);
    pool.before["deleteMachine"] = () => void held.push(stage.activities.slots.heldBy(pool.ref).length);
  }
  equal((await (await stage.rollOut(one)).result()).outcome, "Converged");
  stage.activities.slots.take({ pool: one.ref, machine: "another", limit: 1, of: "ControlPlanes" });
  equal((await (await stage.rollOut(two)).result()).outcome, "Converged");
  stage.activities.slots.keep({ pool: one.ref, machines: [] });
  deepEqual([held, one.numbers(), two.numbers()], [[1, 0], [1, 3, 4], [1, 3, 4]]);
  // Both repairs request the slot for a machine that is out of service already, so they do not queue for it: a
  // pool that waits would otherwise get the slot first, and take another machine out of service.
  deepEqual(stage.activities.slots.begun.slice(-2), [one.nth(2), two.nth(2)]);
});

test("control planes: a machine that recovers while its repair waits for etcd is not replaced", async (stage) => {
  const pool = await controlPlanes(stage);
  pool.sicken(2);
  pool.before["awaitMachineRelieved"] = (times) => {
    if (times === 1) doubt(pool, silent);
  };
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: 300 } });
  await eventually("a warning", () => pool.events.some(({ reason }) => reason === "EtcdInDoubt"));
  for (const machine of pool.machines) Object.assign(machine, { ill: undefined, isNodeDown: false });
  pool.touch();
  await stage.sees(
    pool,
    "that it is well",
    ({ etcd, counts }) => etcd?.doubts.length === 1 && counts?.unhealthy === 0,
  );
  doubt(pool);
  equal((await handle.result()).outcome, "Converged");
  deepEqual([pool.count("deleteMachine"), pool.numbers()], [0, [1, 2, 3]]);
});

test("control planes: the time in which a drain waits for etcd does not count towards its timeout", async (stage) => {
  const pool = await controlPlanes(stage);
  Object.assign(pool.rules.drain, { timeout: 1_500, onBlocked: "Force" });
  pool.before["awaitMachineRelieved"] = (times) => {
    if (times === 1) doubt(pool, silent);
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: 500 } });
  await eventually("a warning", () => pool.events.some(({ reason }) => reason === "EtcdInDoubt"));
  await new Promise((done) => setTimeout(done, 2_000));
  doubt(pool);
  equal((await handle.result()).replaced, 3);
  deepEqual(pool.forced, []);
});
