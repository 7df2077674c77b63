/** What a replaced machine costs of the history of its rollout. */
import { deepEqual, ok } from "node:assert/strict";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, budgetOf } from "../support/pool_checks.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Stage } from "../support/workflow_stage.ts";

const test = onStage();

/** Replaces all machines by the deadlines that people have; gives the events of its history. */
async function eventsOf(stage: Stage, pool: FakePool): Promise<number> {
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: {} });
  await handle.result();
  assertOrderly(pool);
  const { events = [] } = await handle.fetchHistory() as { events?: TimedOut[] };
  // A busy machine lets workflow tasks time out, each of which was scheduled, and perhaps started, for nothing.
  const lost = events.map(({ workflowTaskTimedOutEventAttributes: late }) => {
    return late ? 2 + Math.min(1, Number(late.startedEventId ?? 0)) : 0;
  });
  return events.length - lost.reduce((sum, each) => sum + each, 0);
}

interface TimedOut {
  workflowTaskTimedOutEventAttributes?: { startedEventId?: unknown } | null;
}

test("a machine that is replaced takes at most 40 events, one after the other in a pool of three", async (stage) => {
  const events = await eventsOf(stage, await stage.grownPool());
  ok(events <= 3 * 40, `${events} events for 3 machines`);
});

test("a machine that is replaced takes at most 25 events where many are at a time", async (stage) => {
  const pool = await stage.grownPool({ replicas: 40, surge: 20, rules: { budget: budgetOf(20) } });
  const events = await eventsOf(stage, pool);
  ok(events <= 40 * 25, `${events} events for 40 machines`);
});

test("each stage of a machine is told by itself, what begins before its first step", async (stage) => {
  const pool = await stage.grownPool({ replicas: 1 });
  await eventsOf(stage, pool);
  const told = pool.reports.flatMap(({ underway }) => underway.map(({ machine, step }) => `${step} ${machine}`));
  const [old, next] = [pool.nth(1), pool.nth(2)];
  deepEqual([...new Set(told)], [`Joining ${next}`, `Draining ${old}`, `Removing ${old}`]);
  const first = (call: string): number => pool.calls.findIndex((each) => each.startsWith(call));
  ok(first("ensureRolloutReported") < first("ensureVictimMarked"), pool.calls.join(", "));
});
