/** The field `budget`: how many machines may be out of service or changing at once in a pool, a zone, and all pools. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_failure.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns, budgetOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();

function zonesOf(pool: FakePool, call: string): (string | undefined)[] {
  const numbers = pool.subjects(call).map((subject) => Number(subject.split("-").at(-1)));
  return numbers.map((number) => pool.zones[(number - 1) % pool.zones.length]);
}

test("budget: replaces three machines concurrently with a budget of 3, and no more", async (stage) => {
  const pool = await stage.grownPool({ replicas: 6, surge: 3, rules: { budget: budgetOf(3) } });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.sees(pool, "three under way", ({ underway }) => underway.length === 3);
  pool.mend();
  equal((await handle.result()).replaced, 6);
  equal(pool.watch.mostChanging, 3);
  assertOrderly(pool);
  assertRuns(pool, "image-2");
});

test("budget: replaces one by one with a budget of 1 and a larger surge", async (stage) => {
  const pool = await stage.grownPool({ replicas: 4, surge: 3 });
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 4);
  equal(pool.watch.mostChanging, 1);
  assertOrderly(pool);
});

test("budget: is limited by the surge", async (stage) => {
  const pool = await stage.grownPool({ replicas: 4, surge: 2, rules: { budget: budgetOf(10) } });
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 4);
  assertOrderly(pool);
});

test("budget: may be a percentage of the pool", async (stage) => {
  const pool = await stage.grownPool({ replicas: 4, surge: 4, rules: { budget: budgetOf("50%") } });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.sees(pool, "two under way", ({ underway }) => underway.length === 2);
  pool.mend();
  equal((await handle.result()).replaced, 4);
  equal(pool.watch.mostChanging, 2);
  assertOrderly(pool);
});

test("budget: follows its policy during a rollout", async (stage) => {
  const pool = await stage.grownPool({ replicas: 4, surge: 4 });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.sees(pool, "one under way", ({ underway }) => underway.length === 1);
  pool.rules.budget.machines = 2;
  await stage.tell(pool);
  await stage.sees(pool, "two under way", ({ underway }) => underway.length === 2);
  pool.mend();
  equal((await handle.result()).replaced, 4);
  assertOrderly(pool);
});

test("budget.cluster: frees the slot of a failed machine, so that the rollout continues", async (stage) => {
  const pool = await stage.grownPool({ rules: { budget: budgetOf(1, { cluster: 1 }) } });
  pool.fate = (nth) => nth === 4 ? "registered" : "joins";
  pool.change({ image: "image-2" });
  const deadlines = { ...testDeadlines, instance: 1000, address: 1000, registered: 1000, ready: 1000 };
  equal((await (await stage.rollOut(pool, { deadlines })).result()).replaced, 3);
  deepEqual([stage.activities.slots.most, stage.activities.slots.heldBy(pool.ref)], [1, []]);
  assertOrderly(pool);
});

test("budget.cluster: a machine that takes the place of one that was held for too long gets its slot", async (stage) => {
  const pool = await stage.grownPool({ rules: { budget: budgetOf(1, { cluster: 1 }) } });
  pool.isHeldTooLong = (nth) => nth === 4;
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 3);
  const { slots } = stage.activities;
  deepEqual([pool.count("ensureSlotTaken"), slots.most, slots.heldBy(pool.ref)], [3, 1, []]);
  assertOrderly(pool);
});

test("budget.cluster: a run takes over the slots that a terminated run left", async (stage) => {
  const pool = await stage.grownPool({ rules: { budget: budgetOf(1, { cluster: 1 }) } });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const first = await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  await first.terminate("by hand");
  pool.mend();
  await (await stage.rollOut(pool)).result();
  assertRuns(pool, "image-2");
  deepEqual([stage.activities.slots.most, stage.activities.slots.heldBy(pool.ref)], [1, []]);
});

test("fault E8: budget.cluster: a change that failed after all attempts has no slot, and completes after a retry", async (stage) => {
  const pool = await stage.grownPool({ rules: { budget: budgetOf(1, { cluster: 1 }) } });
  Object.assign(pool.rules.join, { attempts: 1, instance: 1000, address: 1000, registered: 1000 });
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Halted", "Quarantined");
  const { slots } = stage.activities;
  await eventually("the slot given back", () => slots.heldBy(pool.ref).length === 0);
  const other = { namespace: "fleet", name: "other" };
  slots.take({ pool: other, machine: "x", limit: 1 });
  pool.mend();
  await stage.ask(pool, "retry");
  await stage.sees(pool, "the full budget", ({ reason }) => reason === "ClusterBudget");
  equal(pool.count("ensureVictimReleased"), 1, "Expected no wait for a slot for a machine that boots already");
  deepEqual(
    slots.begun.at(-1)?.startsWith(`${pool.ref.name}-`),
    true,
    "Expected the machine that boots already to take a free slot before all pools that wait",
  );
  slots.keep({ pool: other, machines: [] });
  await stage.tell(pool);
  const nudges = setInterval(() => void stage.tell(pool).catch(() => undefined), 500);
  equal((await handle.result()).replaced, 3);
  clearInterval(nudges);
});

test("budget.cluster: is shared by all pools", async (stage) => {
  const rules = { budget: budgetOf(1, { cluster: 1 }) };
  const pools = [await stage.grownPool({ replicas: 2, rules }), await stage.grownPool({ replicas: 2, rules })];
  for (const pool of pools) {
    pool.fate = () => "registered";
    pool.change({ image: "image-2" });
  }
  const handles = await Promise.all(pools.map((pool) => stage.rollOut(pool)));
  const admitted = (): number => pools.reduce((sum, pool) => sum + pool.count("ensureMachineAdmitted"), 0);
  const isWaiting = (pool: FakePool): boolean => pool.reports.at(-1)?.blockedReason === "ClusterBudget";
  await eventually("one machine that waits and one that continues", () => pools.some(isWaiting) && admitted() === 1);
  for (const pool of pools) pool.mend();
  // A run that waits for a slot checks for one only every few seconds; a signal makes it check at once.
  const nudges = setInterval(() => pools.forEach((pool) => void stage.tell(pool).catch(() => undefined)), 500);
  const results = await Promise.all(handles.map((handle) => handle.result()));
  clearInterval(nudges);
  deepEqual(results.map(({ replaced }) => replaced), [2, 2]);
  equal(stage.activities.slots.most, 1);
  for (const pool of pools) {
    deepEqual(stage.activities.slots.heldBy(pool.ref), []);
    assertOrderly(pool);
  }
});

test("budget.cluster: without surge, delays drains until the new machine of another pool has joined", async (stage) => {
  const rules = { budget: budgetOf(1, { cluster: 1 }) };
  const pool = await stage.grownPool({ replicas: 2, surge: 0, rules });
  const other = { namespace: "fleet", name: "other" };
  const { slots } = stage.activities;
  slots.take({ pool: other, machine: "x", limit: 1 });
  for (const machine of pool.machines) machine.hold = pool.holder;
  // Set before the change, because the change already creates the first new machine.
  pool.joinOnceAwaited(() => false);
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.sees(pool, "the full budget", ({ reason }) => reason === "ClusterBudget");
  equal(pool.count("ensureNodeCordoned"), 0);
  slots.keep({ pool: other, machines: [] });
  const nudges = setInterval(() => void stage.tell(pool).catch(() => undefined), 300);
  await eventually("a new machine that boots", () => pool.count("awaitMachinesJoined") > 0);
  equal(slots.heldBy(pool.ref).length, 1, "Expected the slot to be taken until the new machine has joined");
  equal(pool.count("ensureVictimReleased"), 1);
  pool.mend();
  equal((await handle.result()).outcome, "Converged");
  clearInterval(nudges);
  deepEqual([slots.most, slots.heldBy(pool.ref)], [1, []]);
  assertRuns(pool, "image-2");
});

test("budget.cluster: without surge a new machine that failed its last attempt keeps its slot", async (stage) => {
  const rules = { budget: budgetOf(1, { cluster: 1 }) };
  const pool = await stage.grownPool({ replicas: 2, surge: 0, rules });
  Object.assign(pool.rules.join, { attempts: 0, instance: 1000, address: 1000, registered: 1000 });
  const { slots } = stage.activities;
  for (const machine of pool.machines) machine.hold = pool.holder;
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Halted", "Quarantined");
  const looks = pool.count("readPool");
  await stage.tell(pool);
  await eventually("more looks", () => pool.count("readPool") > looks + 1);
  equal(slots.heldBy(pool.ref).length, 1, "Expected the failed machine to keep its slot");
  pool.mend();
  await stage.ask(pool, "retry");
  equal((await handle.result()).outcome, "Converged");
  deepEqual([slots.most, slots.heldBy(pool.ref)], [1, []]);
  assertRuns(pool, "image-2");
});

test("budget.perZone: replaces no two machines of one zone at once", async (stage) => {
  const rules = { budget: budgetOf(2, { perZone: 1 }) };
  const pool = await stage.grownPool({ replicas: 4, surge: 2, zones: ["a", "a", "b", "b"], rules });
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("two drains", () => pool.count("ensureNodeCordoned") === 2);
  deepEqual(zonesOf(pool, "ensureNodeCordoned").sort(), ["a", "b"]);
  pool.unblock();
  equal((await handle.result()).replaced, 4);
  assertOrderly(pool);
});

test("budget.zones: OneAfterAnother finishes one zone before it begins the next", async (stage) => {
  const rules = { budget: budgetOf(2, { zones: "OneAfterAnother" }) };
  const pool = await stage.grownPool({ replicas: 4, surge: 2, zones: ["a", "b"], rules });
  pool.change({ image: "image-2" });
  equal((await (await stage.rollOut(pool)).result()).replaced, 4);
  const zones = zonesOf(pool, "ensureVictimReleased");
  ok(zones[0] === zones[1] && zones[2] === zones[3] && zones[0] !== zones[2], zones.join());
  assertOrderly(pool);
});

test("budget.cluster: a paused pool gives back a slot that it requested without getting an answer", async (stage) => {
  const budget = budgetOf(1, { cluster: 1 });
  const [pool, other] = [await stage.grownPool({ rules: { budget } }), await stage.grownPool({ rules: { budget } })];
  pool.after["ensureSlotTaken"] = async () => {
    delete pool.after["ensureSlotTaken"];
    await stage.ask(pool, "pause");
    throw failure("ApiUnavailable", "The answer was lost");
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Rolling", "Paused");
  other.change({ image: "image-2" });
  equal((await (await stage.rollOut(other)).result()).outcome, "Converged");
  await handle.cancel();
});
