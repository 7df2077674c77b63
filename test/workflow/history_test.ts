/** The number of events that each replaced machine adds to the workflow's history. */
import { deepEqual, ok } from "node:assert/strict";
import type { FakePool } from "../support/fake_pool.ts";
import { assertOrderly, budgetOf } from "../support/pool_checks.ts";
import { onStage } from "../support/workflow_stage.ts";
import type { Stage } from "../support/workflow_stage.ts";

const test = onStage();

/** Replaces all machines, with the default deadlines, and returns the number of events in the workflow's history. */
async function eventsOf(stage: Stage, pool: FakePool): Promise<number> {
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool, { deadlines: {} });
  await handle.result();
  assertOrderly(pool);
  const { events = [] } = await handle.fetchHistory() as { events?: TimedOut[] };
  // Does not count the events of workflow tasks that timed out, which happens on a busy computer.
  const lost = events.map(({ workflowTaskTimedOutEventAttributes: late }) => {
    return late ? 2 + Math.min(1, Number(late.startedEventId ?? 0)) : 0;
  });
  return events.length - lost.reduce((sum, each) => sum + each, 0);
}

interface TimedOut {
  workflowTaskTimedOutEventAttributes?: { startedEventId?: unknown } | null;
}

test("history: a replaced machine takes at most 40 events when three machines are replaced one after the other", async (stage) => {
  const events = await eventsOf(stage, await stage.grownPool());
  ok(events <= 3 * 40, `Counted ${events} events for 3 machines`);
});

test("history: a replaced machine takes at most 25 events when 20 machines are replaced concurrently", async (stage) => {
  const pool = await stage.grownPool({ replicas: 40, surge: 20, rules: { budget: budgetOf(20) } });
  const events = await eventsOf(stage, pool);
  ok(events <= 40 * 25, `Counted ${events} events for 40 machines`);
});

test("history: the stages of a replacement are reported in order, and the first report comes before the first change of a machine", async (stage) => {
  const pool = await stage.grownPool({ replicas: 1 });
  await eventsOf(stage, pool);
  const told = pool.reports.flatMap(({ underway }) => underway.map(({ machine, step }) => `${step} ${machine}`));
  const [old, next] = [pool.nth(1), pool.nth(2)];
  deepEqual([...new Set(told)], [`Joining ${next}`, `Draining ${old}`, `Removing ${old}`]);
  const first = (call: string): number => pool.calls.findIndex((each) => each.startsWith(call));
  ok(first("ensureRolloutReported") < first("ensureVictimMarked"), pool.calls.join(", "));
});
