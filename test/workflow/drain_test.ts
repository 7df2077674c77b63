/** The field `drain`: pods that block a drain are visible, and the policy decides what happens after the timeout. */
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { DrainRules } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_failure.ts";
import { protectedPod } from "../support/fake_pool.ts";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns, budgetOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage();

const hour = 3_600_000;

function drainBy(rules: Partial<DrainRules>): DrainRules {
  return { timeout: hour, onBlocked: "Wait", localStorage: "Delete", order: "ByPriority", ...rules };
}

/** A rollout whose first machine cannot be drained. */
async function blockedRollout(
  stage: Stage,
  rules: Partial<DrainRules>,
  budget = 1,
): Promise<{ pool: FakePool; handle: Handle }> {
  const pool = await stage.grownPool({ surge: budget, rules: { drain: drainBy(rules), budget: budgetOf(budget) } });
  pool.blockers[pool.nth(1)] = [protectedPod];
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck: 300 } });
  // Waits for the Event instead of a query, because the next state may have begun when a query is answered.
  await eventually("the blocker to be reported", () => pool.events.some(({ reason }) => reason === "DrainBlocked"));
  return { pool, handle };
}

test("drain: Wait names the pod and the PodDisruptionBudget that block, and continues when the pod moves", async (stage) => {
  const { pool, handle } = await blockedRollout(stage, {});
  const { message } = await stage.stands(handle, "Rolling", "PodsRemaining");
  match(message, /default\/web-1.*Deployment default\/web.*PodDisruptionBudget default\/web/);
  await eventually("the condition", () => pool.reports.at(-1)?.blockedReason === "PodsRemaining");
  deepEqual(pool.reports.at(-1)?.underway.flatMap(({ blockers = [] }) => blockers), [protectedPod]);
  equal(pool.machines.filter(({ ready }) => ready).length, 4);
  pool.unblock();
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
});

test("drain: Wait continues to wait after the timeout, and releases no machine", async (stage) => {
  const { pool, handle } = await blockedRollout(stage, { timeout: 100 });
  await eventually("looks after the timeout", () => pool.count("awaitNodeDrained") > 3);
  deepEqual([pool.count("ensureVictimReleased"), pool.forced], [0, []]);
  pool.unblock();
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
});

test("drain: a blocker is reported again only when it changes", async (stage) => {
  const { pool, handle } = await blockedRollout(stage, {});
  const told = (): number => pool.events.filter(({ reason }) => reason === "DrainBlocked").length;
  await eventually("the first Event", () => told() === 1);
  const other = { ...protectedPod, pod: "default/db-0", owner: "StatefulSet default/db" };
  pool.blockers[pool.nth(1)] = [other];
  pool.touch();
  await stage.sees(pool, "the other one", ({ underway }) => underway[0]?.blockers?.[0]?.pod === "default/db-0");
  await eventually("the second Event", () => told() === 2);
  pool.unblock();
  await handle.result();
  assertRuns(pool, "image-2");
});

test("drain: SetAside sets a machine aside after the timeout, and replaces the others", async (stage) => {
  const { pool, handle } = await blockedRollout(stage, { timeout: 300, onBlocked: "SetAside" }, 2);
  const { setAside } = await stage.stands(handle, "Halted", "SetAside");
  deepEqual(setAside, [pool.nth(1)]);
  const [stuck, ...others] = pool.machines;
  deepEqual([stuck?.created, stuck?.ready, stuck?.hold, stuck?.cordoned], [1, true, pool.holder, true]);
  deepEqual(others.map(({ set }) => set.image), Array(3).fill("image-2"));
  deepEqual(pool.violations, []);
  pool.unblock();
  await stage.ask(pool, "retry");
  equal((await handle.result()).outcome, "Converged");
  assertRuns(pool, "image-2");
  assertOrderly(pool);
});

test("drain: a machine that is set aside uses the budget, so that with a budget of one no other replacement begins", async (stage) => {
  const { pool, handle } = await blockedRollout(stage, { timeout: 300, onBlocked: "SetAside" });
  await stage.stands(handle, "Halted", "SetAside");
  deepEqual([pool.count("ensureMachineAdmitted"), pool.count("ensureVictimReleased")], [1, 0]);
  await handle.cancel();
});

test("drain: Force deletes the pods that remain after the timeout", async (stage) => {
  const { pool, handle } = await blockedRollout(stage, { timeout: 300, onBlocked: "Force" });
  equal((await handle.result()).replaced, 3);
  deepEqual(pool.forced, [`node-${pool.nth(1)}`]);
  assertOrderly(pool);
});

test("drain: the timeout may change during a drain", async (stage) => {
  const { pool, handle } = await blockedRollout(stage, { onBlocked: "Force" });
  deepEqual(pool.forced, []);
  pool.rules.drain.timeout = 50;
  await stage.tell(pool);
  equal((await handle.result()).replaced, 3);
  deepEqual(pool.forced, [`node-${pool.nth(1)}`]);
});

test("drain: onBlocked may change during a drain", async (stage) => {
  const { pool, handle } = await blockedRollout(stage, { timeout: 50 });
  await eventually("looks after the timeout", () => pool.count("awaitNodeDrained") > 2);
  pool.rules.drain.onBlocked = "Force";
  await stage.tell(pool);
  equal((await handle.result()).replaced, 3);
  deepEqual(pool.forced, [`node-${pool.nth(1)}`]);
});

test("drain: a machine with an unreachable node is reported as blocked and not deleted, with Wait and with SetAside", async (stage) => {
  const { pool, handle } = await blockedRollout(stage, { timeout: 50 });
  const stuck = pool.find(pool.nth(1));
  if (stuck) stuck.isNodeDown = true;
  pool.touch();
  const { underway } = await stage.sees(
    pool,
    "the unreachable node",
    (seen) => seen.underway[0]?.blockers?.[0]?.why === "node unreachable",
  );
  equal(underway[0]?.node, `node-${pool.nth(1)}`);
  equal(pool.count("ensureVictimReleased"), 0);
  pool.rules.drain.onBlocked = "SetAside";
  await stage.tell(pool);
  await stage.sees(pool, "it set aside", ({ setAside }) => setAside.length === 1);
  notEqual(pool.find(pool.nth(1)), undefined);
  await handle.cancel();
});

test("drain: order and localStorage of the policy reach the drain", async (stage) => {
  const drain = drainBy({ localStorage: "Block", order: "AllAtOnce" });
  const pool = await stage.grownPool({ replicas: 1, rules: { drain } });
  pool.change({ image: "image-2" });
  await (await stage.rollOut(pool)).result();
  deepEqual(pool.drains, [drain]);
});

test("drain: Force does not count a time without reads towards its timeout", async (stage) => {
  const { pool, handle } = await blockedRollout(stage, { timeout: 1_500, onBlocked: "Force" });
  pool.unseen.push(3_600_000);
  await stage.tell(pool);
  pool.touch();
  await eventually("the time without reads to be reported", () => pool.unseen.length === 0);
  await pause(2_000);
  deepEqual(pool.forced, []);
  pool.unblock();
  equal((await handle.result()).replaced, 3);
  assertOrderly(pool);
});

test("drain: Force does not count a time in which no cordon succeeded towards its timeout", async (stage) => {
  const pool = await stage.grownPool({
    replicas: 1,
    rules: { drain: drainBy({ timeout: 4_000, onBlocked: "Force" }) },
  });
  pool.isDrainBlocked = true;
  let cordoned = 0;
  pool.before["ensureNodeCordoned"] = async (times) => {
    if (times > 2) return void (cordoned = Date.now());
    await pause(2_500);
    throw failure("ApiUnavailable", "Failed to reach the API: connection refused");
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a drain by force", () => pool.forced.length === 1);
  ok(Date.now() - cordoned > 1_500, "Expected the time before the cordon not to count towards the timeout");
  equal((await handle.result()).replaced, 1);
});

test("drain: Force does not count a time in which the start of the drain could not be reported towards its timeout", async (stage) => {
  const pool = await stage.grownPool({
    replicas: 1,
    rules: { drain: drainBy({ timeout: 4_000, onBlocked: "Force" }) },
  });
  pool.isDrainBlocked = true;
  // The first report is that of the join, and the second is that of the drain.
  pool.before["ensureRolloutReported"] = (times) => times === 2 ? pause(5_500) : undefined;
  let cordoned = 0;
  pool.before["ensureNodeCordoned"] = () => void (cordoned = Date.now());
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a drain by force", () => pool.forced.length === 1);
  ok(Date.now() - cordoned > 1_500, "Expected the time before the cordon not to count towards the timeout");
  equal((await handle.result()).replaced, 1);
});

test("fault E2 drain: Force does not count a time in which the drain was denied towards its timeout", async (stage) => {
  const pool = await stage.grownPool({
    replicas: 1,
    rules: { drain: drainBy({ timeout: 2_500, onBlocked: "Force" }) },
  });
  pool.isDrainBlocked = true;
  let [denied, cordoned] = [0, 0];
  pool.before["ensureNodeCordoned"] = () => {
    denied ||= Date.now();
    if (Date.now() - denied < 3_000) throw failure("AccessDenied", "Cannot cordon the node: patch is forbidden");
    cordoned ||= Date.now();
  };
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a drain by force", () => pool.forced.length === 1);
  ok(Date.now() - cordoned > 1_500, "Expected the time before the cordon not to count towards the timeout");
  equal((await handle.result()).replaced, 1);
});
