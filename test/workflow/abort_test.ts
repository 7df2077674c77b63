/** Abort stops a rollout, removes everything that it set on machines, and rolls back to the last good template. */
import { deepEqual, equal, match } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { assertOrderly, assertRuns, budgetOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";

const test = onStage();

const patient = { deadlines: { ...testDeadlines, recheck: "1h" } };
const asked = { by: "somebody", reason: "incident 12" };

test("abort: rolls back to the last good template, and keeps the old machines, while a new machine joins", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = (_, image) => image === "image-2" ? "registered" : "joins";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  await stage.ask(pool, "abort", asked);
  const result = await handle.result();
  deepEqual([result.outcome, pool.template.image, pool.numbers()], ["Aborted", "image-1", [1, 2, 3]]);
  assertOrderly(pool);
  const entry = pool.history.at(-1);
  deepEqual([entry?.outcome, entry?.actor], ["Aborted", "somebody"]);
  match(entry?.reason ?? "", /incident 12/);
  const event = pool.events.find(({ reason }) => reason === "RolloutAborted");
  match(event?.message ?? "", /somebody.*incident 12/);
});

test("abort: replaces updated machines again, and finishes the running drain", async (stage) => {
  const pool = await stage.grownPool();
  pool.before["awaitNodeDrained"] = (times) => {
    if (times === 2) pool.isDrainBlocked = true;
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  await stage.sees(
    pool,
    "a blocked drain",
    ({ underway }) => underway.some(({ blockers = [] }) => blockers.length > 0),
  );
  await stage.ask(pool, "abort", asked);
  await stage.sees(pool, "the rollback", ({ phase }) => phase === "RollingBack");
  pool.unblock();
  equal((await handle.result()).outcome, "Aborted");
  assertRuns(pool, "image-1");
  assertOrderly(pool);
});

test("abort: gives back the slots of the shared budget", async (stage) => {
  const pool = await stage.grownPool({ rules: { budget: budgetOf(1, { cluster: 1 }) } });
  pool.fate = (_, image) => image === "image-2" ? "registered" : "joins";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  await eventually("a taken slot", () => stage.activities.slots.heldBy(pool.ref).length === 1);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  await stage.ask(pool, "abort", asked);
  await handle.result();
  deepEqual(stage.activities.slots.heldBy(pool.ref), []);
});

test("abort: keeps the aborted change quarantined when it is applied again", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = (_, image) => image === "image-2" ? "registered" : "joins";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  await stage.ask(pool, "abort", asked);
  await handle.result();
  pool.calls.length = 0;
  pool.change({ image: "image-2" });
  const again = await stage.rollOut(pool, patient);
  const { message } = await stage.stands(again, "Halted", "Quarantined");
  match(message, /somebody|incident 12/);
  deepEqual(pool.writes(), []);
  await again.cancel();
});

test("abort: ends the creation of a pool, which has no last good template", async (stage) => {
  const pool = stage.pool({ fate: () => "registered" });
  const handle = await stage.rollOut(pool, patient);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") > 0);
  await stage.ask(pool, "abort", asked);
  equal((await handle.result()).outcome, "Aborted");
  deepEqual([pool.leftovers(), pool.count("ensureLastGoodRestored")], [[], 0]);
  match(pool.reports.at(-1)?.message ?? "", /somebody.*incident 12/);
});

test("abort: removes the marks and holds of machines even if no template was ever good", async (stage) => {
  const pool = stage.pool({ fate: (nth) => nth > 2 ? "registered" : "joins" });
  const handle = await stage.rollOut(pool, patient);
  await eventually("joins under way", () => pool.count("awaitMachinesJoined") > 0);
  pool.change({ image: "image-2" });
  await stage.tell(pool);
  await eventually("a chosen machine", () => pool.leftovers().length > 0);
  await stage.ask(pool, "abort", asked);
  equal((await handle.result()).outcome, "Aborted");
  deepEqual([pool.leftovers(), pool.count("ensureLastGoodRestored")], [[], 0]);
});

test("abort: works on a rollout that is both quarantined and paused", async (stage) => {
  const pool = await stage.grownPool();
  pool.rules.join.attempts = 1;
  Object.assign(pool.rules.join, { instance: 1000, address: 1000, registered: 1000 });
  pool.fate = (_, image) => image === "image-2" ? "registered" : "joins";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, patient);
  await stage.stands(handle, "Halted", "Quarantined");
  await stage.ask(pool, "pause");
  await stage.ask(pool, "abort", asked);
  equal((await handle.result()).outcome, "Aborted");
  assertRuns(pool, "image-1");
  assertOrderly(pool);
});

test("retry: cancels an abort that is still unmarking machines", async (stage) => {
  const pool = await stage.grownPool();
  pool.fate = () => "registered";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  pool.before["ensureVictimUnmarked"] = async () => {
    delete pool.before["ensureVictimUnmarked"];
    await stage.ask(pool, "retry");
    pool.mend();
  };
  await stage.ask(pool, "abort");
  equal((await handle.result()).outcome, "Converged");
  assertRuns(pool, "image-2");
});
