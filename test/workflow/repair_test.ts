/** The field `repair`: machines that are unhealthy long enough are replaced, unless too many are unhealthy at once. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_activities.ts";
import { assertRuns } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();

const [minute, hour] = [60_000, 3_600_000];
const patient = { deadlines: { ...testDeadlines, recheck: "1h" } };

test("repair: a machine that is NotReady long enough is replaced by another of the same revision", async (stage) => {
  const pool = await stage.grownPool();
  pool.sicken(2);
  const result = await (await stage.rollOut(pool)).result();
  deepEqual([result.outcome, pool.numbers(), result.revision], ["Converged", [1, 3, 4], "1"]);
  deepEqual(pool.subjects("deleteMachine"), [pool.nth(2)]);
  ok(pool.events.some(({ reason }) => reason === "RepairStarted"));
  deepEqual(pool.violations, []);
});

test("repair.notReadyFor: is how long a machine may be NotReady before it is replaced", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.repair.notReadyFor = hour;
  pool.sicken(2, { agoMs: 0 });
  const handle = await stage.rollOut(pool, patient);
  await stage.sees(pool, "nothing to do", ({ reason }) => reason === "Settling");
  equal(pool.count("deleteMachine"), 0);
  pool.rules.repair.notReadyFor = 1;
  await stage.tell(pool);
  equal((await handle.result()).outcome, "Converged");
  deepEqual(pool.numbers(), [1, 3, 4]);
});

test("repair: starts without an event when a machine has been NotReady for `notReadyFor`", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.repair.notReadyFor = 1000;
  pool.sicken(2, { agoMs: 0 });
  await (await stage.rollOut(pool, patient)).result();
  deepEqual(pool.numbers(), [1, 3, 4]);
});

test("repair.conditions: names further conditions; a machine with one of them is drained before it is deleted", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.repair.conditions = [{ type: "KernelDeadlock", status: "True", for: minute }];
  pool.sicken(2, { condition: "KernelDeadlock" });
  await (await stage.rollOut(pool)).result();
  deepEqual([pool.numbers(), pool.subjects("awaitNodeDrained")], [[1, 3, 4], [`node-${pool.nth(2)}`]]);
});

test("repair: ignores a condition that no rule names", async (stage) => {
  const pool = await stage.grownPool();
  pool.sicken(2, { condition: "KernelDeadlock" });
  equal((await (await stage.rollOut(pool)).result()).outcome, "Converged");
  deepEqual(pool.writes(), []);
});

test("repair.enabled: false leaves unhealthy machines alone", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.repair.enabled = false;
  pool.sicken(2);
  const handle = await stage.rollOut(pool, patient);
  await stage.sees(pool, "nothing to do", ({ reason }) => reason === "Settling");
  deepEqual(pool.writes(), []);
  await handle.cancel();
});

test("repair: continues while the rollout is paused, and replaces the machine", async (stage) => {
  const waves = [{ upTo: 1, soak: hour }, { upTo: "100%", soak: 0 }];
  const pool = await stage.grownPool({ rules: { waves } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.sees(pool, "the soak", ({ reason }) => reason === "Soaking");
  await stage.ask(pool, "pause");
  pool.sicken(4);
  await stage.tell(pool);
  await eventually(
    "a Ready machine in place of the unhealthy one",
    () => pool.machines.some(({ created, ready }) => created > 4 && ready),
  );
  const [one, other, ...rest] = pool.machines.filter(({ ready }) => ready).map(({ created }) => created);
  deepEqual([one, other, rest.length], [2, 3, 1]);
  await handle.cancel();
});

test("repair.maxUnhealthy: stops all repairs when too many are unhealthy at once", async (stage) => {
  const pool = await stage.grownPool({ replicas: 4 });
  for (const nth of [1, 2]) pool.sicken(nth);
  const handle = await stage.rollOut(pool, patient);
  const { message } = await stage.sees(pool, "the stop", ({ reason }) => reason === "TooManyUnhealthy");
  match(message, /2/);
  equal(pool.count("deleteMachine"), 0);
  pool.rules.repair.maxUnhealthy = 60;
  await stage.tell(pool);
  await handle.result();
  deepEqual(pool.numbers().slice(0, 2), [3, 4]);
});

test("repair: a pool that is already paused when its run starts is repaired", async (stage) => {
  const pool = await stage.grownPool();
  pool.rollout.paused = { by: "somebody", reason: "", since: Date.now() };
  pool.sicken(2);
  await stage.rollOut(pool, patient);
  await eventually("the repair", () => pool.numbers().join() === "1,3,4");
  equal(pool.rollout.paused.by, "somebody");
  await stage.client.workflow.getHandle(pool.holder).cancel();
});

test("repair: nothing is repaired while the API does not respond", async (stage) => {
  const pool = await stage.grownPool();
  pool.sicken(2);
  pool.before["readPool"] = () => {
    throw failure("ApiUnavailable", "Failed to reach the API: connection refused");
  };
  const handle = await stage.rollOut(pool);
  await eventually("several failed reads", () => pool.count("readPool") > 2);
  equal(pool.count("deleteMachine"), 0);
  delete pool.before["readPool"];
  await stage.tell(pool);
  await handle.result();
  deepEqual(pool.numbers(), [1, 3, 4]);
});

test("repair: a cancelled drain leaves no cordon behind", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.repair.conditions = [{ type: "KernelDeadlock", status: "True", for: hour }];
  pool.sicken(2, { condition: "KernelDeadlock" });
  pool.isDrainBlocked = true;
  const handle = await stage.rollOut(pool);
  await eventually("the drain of the unhealthy machine", () => pool.count("awaitNodeDrained") > 0);
  ok(pool.leftovers().length > 0);
  await handle.cancel();
  await handle.result().catch(() => undefined); // rejects, because the run was cancelled
  deepEqual([pool.leftovers(), pool.numbers()], [[], [1, 2, 3]]);
});

test("repair: an unhealthy machine is replaced first in a rollout", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.repair.conditions = [{ type: "KernelDeadlock", status: "True", for: hour }];
  pool.sicken(3, { agoMs: 0, condition: "KernelDeadlock" });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a victim", () => pool.count("ensureVictimMarked") === 1);
  deepEqual(pool.subjects("ensureVictimMarked"), [pool.nth(3)]);
  await handle.result();
  assertRuns(pool, "image-2");
});
