/** The number of events in the history per replaced machine. */
import { deepEqual, ok } from "node:assert/strict";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, budgetOf } from "../support/pool_checks.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Stage } from "../support/workflow_stage.ts";

const test = onStage();

/** Replaces all machines with the default deadlines; returns the number of events in its history. */
async function eventsOf(stage: Stage, pool: FakePool): Promise<number> {
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: {} });
  await handle.result();
  assertOrderly(pool);
  const { events = [] } = await handle.fetchHistory() as { events?: TimedOut[] };
  // On a busy computer workflow tasks time out, which adds events for their schedules and starts.
  const lost = events.map(({ workflowTaskTimedOutEventAttributes: late }) => {
    return late ? 2 + Math.min(1, Number(late.startedEventId ?? 0)) : 0;
  });
  return events.length - lost.reduce((sum, each) => sum + each, 0);
}

interface TimedOut {
  workflowTaskTimedOutEventAttributes?: { startedEventId?: unknown } | null;
}

test("history: a replaced machine takes at most 40 events, one after the other in a pool of three", async (stage) => {
  const events = await eventsOf(stage, await stage.grownPool());
  ok(events <= 3 * 40, `Counted ${events} events for 3 machines`);
});

test("history: a replaced machine takes at most 25 events with many concurrent ones", async (stage) => {
  const pool = await stage.grownPool({ replicas: 40, surge: 20, rules: { budget: budgetOf(20) } });
  const events = await eventsOf(stage, pool);
  ok(events <= 40 * 25, `Counted ${events} events for 40 machines`);
});

test("history: each stage of a machine is reported once, its start before its first step", async (stage) => {
  const pool = await stage.grownPool({ replicas: 1 });
  await eventsOf(stage, pool);
  const told = pool.reports.flatMap(({ underway }) => underway.map(({ machine, step }) => `${step} ${machine}`));
  const [old, next] = [pool.nth(1), pool.nth(2)];
  deepEqual([...new Set(told)], [`Joining ${next}`, `Draining ${old}`, `Removing ${old}`]);
  const first = (call: string): number => pool.calls.findIndex((each) => each.startsWith(call));
  ok(first("ensureRolloutReported") < first("ensureVictimMarked"), pool.calls.join(", "));
});
