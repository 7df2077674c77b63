/**
 * Faults of our own code. Thrown at the engine they would be tried again without end, unseen by people, and look like an
 * outage. So the run ends and another one goes on; after some of them it stands still in plain sight.
 */
import { condition, ContinueAsNew, TemporalFailure } from "@temporalio/workflow";
import { iso } from "../state/loop.ts";
import type { Rollout } from "../state/rollout.ts";
import { recallEarlier } from "./prepare.ts";
import { halt } from "./halt.ts";
import { waitOver } from "./mishaps.ts";
import { troubleOf } from "../state/trouble.ts";

/** In a row, before a person is asked. */
const triesAtMost = 3;

/** The first pause after one; each is twice as long as the one before, up to `recheck` (ms). */
const firstPauseMs = 500;

/** What of ours was broken, in words; undefined for what the engine has to know: its own failures and requests. */
export function bugIn(error: unknown): string | undefined {
  if (error instanceof TemporalFailure || error instanceof ContinueAsNew || !(error instanceof Error)) return undefined;
  // The engine tells by it that the code does not fit the history: it must stop the task, until code comes that does.
  if (error.name === "DeterminismViolationError") return undefined;
  return `${error.name}: ${error.message}`;
}

/**
 * Waits after a run that ended by such a fault: a moment, and after some of them in plain sight, until something changes
 * or a person says retry.
 */
export async function waitAfterBug(rollout: Rollout): Promise<void> {
  const { loop, settings: { durations } } = rollout;
  if (loop.bugs === 0) return;
  const pause = Math.min(durations.recheck, firstPauseMs * 2 ** (loop.bugs - 1));
  const summary = `Continue at ${iso(Date.now() + pause)} after an internal error: ${loop.bug}`;
  await condition(() => loop.nudged, pause, { summary });
  if (loop.bugs >= triesAtMost && !loop.nudged) await haltAfterBugs(rollout);
  loop.steadySince = Date.now();
}

async function haltAfterBugs(rollout: Rollout): Promise<void> {
  const { bugs, bug } = rollout.loop;
  const message = `Internal error, ${bugs} times in a row: ${bug}; Ostler keeps retrying, also after an upgrade`;
  try {
    await recallEarlier(rollout);
    await halt(rollout, "InternalError", message);
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble.kind === "rethrow") throw error;
    await waitOver(rollout, trouble);
  }
}
