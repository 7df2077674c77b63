import { WorkflowUpdateFailedError } from "@temporalio/client";
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertRuns, inMs } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage();

const hour = 3_600_000;

/** Starts a rollout that waits for its window. */
async function waitingRollout(stage: Stage, replicas = 3): Promise<{ pool: FakePool; handle: Handle }> {
  const pool = await stage.grownPool({ replicas, rules: { windows: [{ from: inMs(hour), to: inMs(2 * hour) }] } });
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Rolling", "OutsideWindow");
  return { pool, handle };
}

async function open(stage: Stage, pool: FakePool): Promise<void> {
  pool.rules.windows = null;
  await stage.tell(pool);
}

test("skip: leaves one machine unchanged and replaces the others", async (stage) => {
  const { pool, handle } = await waitingRollout(stage);
  await stage.ask(pool, "skip", { by: "somebody", reason: "a trace runs on it", machine: pool.nth(2) });
  await open(stage, pool);
  const { skipped } = await stage.sees(pool, "the others done", ({ reason }) => reason === "OnlySkippedRemain");
  deepEqual(skipped, [pool.nth(2)]);
  const ready = pool.machines.filter((machine) => machine.ready);
  deepEqual(ready.map(({ created, set }) => [created, set.image]), [[2, "image-1"], [4, "image-2"], [5, "image-2"]]);
  deepEqual(pool.violations, []);
  await stage.ask(pool, "retry");
  equal((await handle.result()).outcome, "Converged");
  assertRuns(pool, "image-2");
});

test("skip: replaces the other machines when many skipped machines come before them in the order", async (stage) => {
  const { pool, handle } = await waitingRollout(stage, 23);
  const skipped = Array.from({ length: 21 }, (_, index) => pool.nth(index + 1));
  for (const machine of skipped) await stage.ask(pool, "skip", { by: "somebody", machine });
  await open(stage, pool);
  await stage.sees(pool, "the others done", ({ reason }) => reason === "OnlySkippedRemain");
  const old = pool.machines.filter(({ set }) => set.image === "image-1").map(({ name }) => name);
  const updated = pool.machines.filter(({ set, ready }) => set.image === "image-2" && ready);
  deepEqual([old.sort(), updated.length], [skipped.sort(), 2]);
  await handle.cancel();
});

test("fault E3: a skipped machine stays skipped when the profile is edited, and after a terminated run", async (stage) => {
  const { pool, handle } = await waitingRollout(stage);
  const looks = (): number => pool.count("readPool") + pool.count("readRound");
  await stage.ask(pool, "skip", { by: "somebody", machine: pool.nth(2) });
  await eventually("the report", () => pool.rollout.skipped?.length === 1);
  pool.profileVersion = 2;
  const before = looks();
  await stage.tell(pool);
  await eventually("another look", () => looks() > before);
  await handle.terminate("by hand");
  pool.profileVersion = 3;
  await stage.rollOut(pool);
  await open(stage, pool);
  const { skipped } = await stage.sees(pool, "the others done", ({ reason }) => reason === "OnlySkippedRemain");
  deepEqual([skipped, pool.find(pool.nth(2))?.set.image], [[pool.nth(2)], "image-1"]);
  pool.change({ image: "image-3" });
  await stage.tell(pool);
  equal((await stage.client.workflow.getHandle(pool.holder).result()).outcome, "Converged");
  deepEqual(pool.rollout.skipped, []);
});

test("fault E3: a skipped machine stays skipped when Ostler changes the template for an edited profile", async (stage) => {
  const { pool } = await waitingRollout(stage);
  pool.rules.onProfileChange = "Roll";
  await stage.ask(pool, "skip", { by: "somebody", machine: pool.nth(2) });
  pool.profileVersion = 2;
  await stage.tell(pool);
  await eventually("the stamp", () => pool.count("ensureTemplateStamped") === 1);
  await open(stage, pool);
  const { skipped } = await stage.sees(pool, "the others done", ({ reason }) => reason === "OnlySkippedRemain");
  deepEqual(skipped, [pool.nth(2)]);
  await stage.ask(pool, "retry");
});

test("skip: reports a name that no machine of the pool has, and drops the name", async (stage) => {
  const { pool, handle } = await waitingRollout(stage);
  await stage.ask(pool, "skip", { by: "somebody", machine: pool.nth(2) });
  await stage.ask(pool, "skip", { by: "somebody", machine: `${pool.nth(3)}-typo` });
  const { skipped } = await stage.sees(pool, "the typing error dropped", (seen) => seen.skipped.length === 1);
  deepEqual(skipped, [pool.nth(2)]);
  const told = (): string[] =>
    pool.events.filter(({ reason }) => reason === "CommandIgnored").map(({ message }) => message);
  await eventually("the Event", () => told().length > 0);
  deepEqual(told(), [`Cannot skip "${pool.nth(3)}-typo": no such machine in this pool`]);
  await handle.cancel();
});

test("skip: refuses a request without a machine", async (stage) => {
  const { pool, handle } = await waitingRollout(stage);
  await rejects(stage.ask(pool, "skip", { by: "somebody" }), (error) => {
    ok(error instanceof WorkflowUpdateFailedError, String(error));
    match(error.cause?.message ?? "", /"machine"/);
    return true;
  });
  await handle.cancel();
});

test("skip: refuses a machine that is leaving", async (stage) => {
  const pool = await stage.grownPool();
  pool.isDrainBlocked = true;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await stage.stands(handle, "Rolling", "PodsRemaining");
  await rejects(stage.ask(pool, "skip", { by: "somebody", machine: pool.nth(1) }), (error) => {
    ok(error instanceof WorkflowUpdateFailedError, String(error));
    match(error.cause?.message ?? "", /already being removed/);
    return true;
  });
  await handle.cancel();
});

test("skip: refuses a machine that a joining machine will replace, even if the last read does not show its mark", async (stage) => {
  const pool = await stage.grownPool();
  const joined = Promise.withResolvers<void>();
  pool.before["awaitMachinesJoined"] = () => joined.promise;
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: "1h" } });
  await eventually("a join", () => pool.count("awaitMachinesJoined") > 0);
  const [machine = ""] = pool.subjects("ensureVictimMarked");
  await rejects(stage.ask(pool, "skip", { by: "somebody", machine }), (error) => {
    ok(error instanceof WorkflowUpdateFailedError, String(error));
    match(error.cause?.message ?? "", /already marked for removal/);
    return true;
  });
  joined.resolve();
  equal((await handle.result()).outcome, "Converged");
});
