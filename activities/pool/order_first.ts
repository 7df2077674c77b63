/** Orders that stand at the beginning of a wait, in one step with it: given once, and tried as often as an order alone. */
import { Context } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import type { Unseen } from "../../workflows/contracts/mod.ts";
import { beating } from "../kube/polling.ts";

/** As often as an order by itself; longer trouble is left to the rollout, which says so and looks again. */
const triesAtMost = 8;
/** A first try that waited longer for its turn (ms) was kept waiting by workers that were away or full; clocks differ by less. */
const turnMs = 60_000;
/** An order that got through within this time (ms) costs nobody anything. */
const promptMs = 5_000;
/** Milliseconds between heartbeats. */
const beat = 3_000;

/** The heartbeat of a try that has not given its order yet. */
const ordering = "ordering";

/**
 * Gives the order unless a try before has; undefined when all is well, and what came late, as it was tried again and
 * again, as time that nobody could look in.
 */
export async function orderFirst(order: () => Promise<void>): Promise<Unseen | undefined> {
  const context = Context.current();
  const { heartbeatDetails, scheduledTimestampMs, attempt } = context.info;
  if (heartbeatDetails !== undefined && heartbeatDetails !== ordering) return undefined; // a look came after it
  const now = Date.now();
  // The time of the first try is its own, as clocks may differ, unless it came late.
  const isOwn = attempt === 1 && now - (scheduledTimestampMs ?? now) < turnMs;
  const begun = isOwn ? now : scheduledTimestampMs ?? now;
  try {
    await beating(order, { pulse: () => context.heartbeat(ordering), beat });
  } catch (error) {
    throw attempt < triesAtMost ? error : asLast(error);
  }
  const ms = Date.now() - begun;
  return ms < promptMs ? undefined : { unseenMs: ms };
}

function asLast(error: unknown): unknown {
  if (!(error instanceof ApplicationFailure)) return error;
  const { message, type } = error;
  return ApplicationFailure.nonRetryable(message, type ?? undefined);
}
