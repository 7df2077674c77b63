/**
 * Handles internal errors. If the workflow threw such an error, Temporal would retry the workflow task without end and
 * without a report, which would look like an outage. So the run ends and continues as new; after several internal
 * errors in a row, the run halts and reports them.
 */
import { condition, ContinueAsNew, TemporalFailure } from "@temporalio/workflow";
import { stopClocks } from "../state/clock.ts";
import { iso } from "../state/loop.ts";
import type { Part, Telling } from "../state/rollout.ts";
import { recallEarlier } from "./prepare.ts";
import { halt } from "./halt.ts";
import { waitOver } from "./mishaps.ts";
import { troubleOf } from "../state/trouble.ts";

/** How many internal errors in a row before the run halts. */
const triesAtMost = 3;

/** The pause after the first internal error; each further pause is twice as long, up to `recheck` (ms). */
const firstPauseMs = 500;

/**
 * Returns the text of an internal error; undefined for failures of Temporal, such as those of activities, and for its
 * request to continue as new.
 */
export function bugIn(error: unknown): string | undefined {
  if (error instanceof TemporalFailure || error instanceof ContinueAsNew || !(error instanceof Error)) return undefined;
  // Temporal throws this error if the code does not fit the history: the workflow task must fail until a worker with
  // fitting code runs it.
  if (error.name === "DeterminismViolationError") return undefined;
  return `${error.name}: ${error.message}`;
}

/** The groups of the state that a run changes before its first read. */
type Restarted = Telling & Part<"loop" | "target" | "memory" | "people" | "machines" | "waves" | "tasks">;

/**
 * Waits if an internal error ended the previous run: briefly after the first errors. After several in a row, the run
 * halts until something changes, a person sends `retry`, or the next scheduled check is due.
 */
export async function waitAfterBug(rollout: Restarted): Promise<void> {
  const { loop, settings: { durations } } = rollout;
  if (loop.bugs === 0) return;
  stopClocks(rollout, Date.now());
  const pause = Math.min(durations.recheck, firstPauseMs * 2 ** (loop.bugs - 1));
  const summary = `Continue at ${iso(Date.now() + pause)} after an internal error: ${loop.bug}`;
  await condition(() => loop.nudged, pause, { summary });
  if (loop.bugs >= triesAtMost && !loop.nudged) await haltAfterBugs(rollout);
  loop.steadySince = Date.now();
}

async function haltAfterBugs(rollout: Restarted): Promise<void> {
  const { bugs, bug } = rollout.loop;
  const message =
    `Internal error, ${bugs} times in a row: ${bug}; Ostler keeps retrying, so a fixed version continues by itself`;
  try {
    await recallEarlier(rollout);
    await halt(rollout, "InternalError", message);
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble.kind === "rethrow") throw error;
    await waitOver(rollout, trouble);
  }
}
