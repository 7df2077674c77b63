/** The field `onNewChange: Finish`: a resumed join keeps the change that its machine was admitted for. */
import { deepEqual, equal } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_activities.ts";
import type { FakePool, FakePoolOptions, FakeTemplate } from "../support/fake_pool.ts";
import { assertOrderly, assertRuns, budgetOf, gateOf } from "../support/pool_checks.ts";
import { onStage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle, Stage } from "../support/workflow_stage.ts";

const test = onStage({ dynamicConfig: ["limit.historyCount.suggestContinueAsNew=80"] });

const newer = { image: "image-3", kubelet: "1.36.1" };

interface Doubt {
  nth: number;
  within?: number;
  recheck?: string;
}

/** Starts a rollout in which the gate of the nth machine is inconclusive. */
async function rolloutInDoubt(
  stage: Stage,
  { nth, within = 100, recheck = "1h", ...options }: FakePoolOptions & Doubt,
): Promise<{ pool: FakePool; handle: Handle }> {
  const rules = { ...options.rules, onNewChange: "Finish" as const, gates: [gateOf("EachMachine", within)] };
  const pool = await stage.grownPool({ ...options, rules });
  pool.rules.join.attempts = 0;
  pool.verdict = (_, machine) => machine === pool.nth(nth) ? "Inconclusive" : "Passed";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, recheck } });
  await eventually("the gate asked", () => pool.subjects("awaitGates").includes(pool.nth(nth)));
  if (within <= 100) await stage.stands(handle, "Halted", "GateInconclusive");
  return { pool, handle };
}

/** Changes the desired state to a newer change, and waits until the run has published its config. */
async function change(stage: Stage, pool: FakePool, edit: Partial<FakeTemplate>): Promise<void> {
  pool.change(edit);
  await stage.tell(pool);
  await eventually("the newer secrets", () => pool.published?.revision === 3);
}

function failsItsGate(pool: FakePool, nth: number): void {
  pool.verdict = (_, machine) => machine === pool.nth(nth) ? "Failed" : "Passed";
  pool.touch();
}

/** Asserts that the failure of a machine of the earlier change did not count, and that the newer change completed. */
async function assertDropped(stage: Stage, pool: FakePool): Promise<void> {
  await eventually("the drop", () => pool.events.some(({ reason }) => reason === "MachineDropped"));
  const result = await stage.client.workflow.getHandle(pool.holder).result();
  deepEqual([result.outcome, result.image, pool.rollout.quarantine], ["Converged", newer.image, []]);
  deepEqual(pool.subjects("deleteMachine"), []);
  assertRuns(pool, newer.image);
  assertOrderly(pool);
}

test("onNewChange: with Finish, a failure after the command retry counts only for the earlier change of its machine", async (stage) => {
  const { pool } = await rolloutInDoubt(stage, { nth: 4 });
  await change(stage, pool, newer);
  failsItsGate(pool, 4);
  await stage.ask(pool, "retry");
  await assertDropped(stage, pool);
});

test("onNewChange: with Finish, a retried join waits for the kubelet version of its own, earlier change", async (stage) => {
  const { pool, handle } = await rolloutInDoubt(stage, { nth: 4 });
  await change(stage, pool, newer);
  pool.verdict = () => "Passed";
  await stage.ask(pool, "retry");
  const { joins } = await handle.result();
  deepEqual(joins.slice(0, 2).map(({ machine, kubelet }) => [machine, kubelet]), [
    ...[[pool.nth(4), "1.35.3"], [joins[1]?.machine, newer.kubelet]],
  ]);
  assertRuns(pool, newer.image);
});

test("onNewChange: Finish admits no machine of the newer change after retry while one of the earlier change has an inconclusive gate", async (stage) => {
  const { pool, handle } = await rolloutInDoubt(stage, {
    ...{ nth: 4, replicas: 2, surge: 3, rules: { budget: budgetOf(3) } },
  });
  await change(stage, pool, newer);
  const doubts = (): number => pool.events.filter(({ reason }) => reason === "GateInconclusive").length;
  // A query shows the inconclusive gate a moment before its Event is written, so this waits for the Event.
  const before = await eventually("the doubt", () => doubts() || undefined);
  await stage.ask(pool, "retry");
  await eventually("the inconclusive gate again", () => doubts() > before);
  equal(pool.count("ensureMachineAdmitted"), 2);
  await stage.ask(pool, "promote");
  equal((await handle.result()).image, newer.image);
  assertOrderly(pool);
});

test("onNewChange: with Finish, a failure after an outage counts only for the earlier change of its machine", async (stage) => {
  const { pool } = await rolloutInDoubt(stage, { nth: 4, within: 60_000, recheck: "1s" });
  await change(stage, pool, newer);
  const { verdict } = pool;
  pool.verdict = () => {
    throw failure("ApiUnavailable", "Failed to reach the API: connection refused");
  };
  pool.touch();
  await stage.sees(pool, "the outage", ({ reason }) => reason === "Unreachable");
  pool.verdict = verdict;
  failsItsGate(pool, 4);
  await assertDropped(stage, pool);
});

test("onNewChange: with Finish, a failure in the next run of the chain counts only for the earlier change of its machine", async (stage) => {
  const { pool, handle } = await rolloutInDoubt(stage, { nth: 4, within: 60_000 });
  const { runId } = await handle.describe();
  await change(stage, pool, newer);
  const chain = stage.client.workflow.getHandle(pool.holder);
  await eventually("another run", async () => {
    await stage.tell(pool);
    await pause(200);
    return (await chain.describe()).runId !== runId;
  });
  failsItsGate(pool, 4);
  await assertDropped(stage, pool);
});
