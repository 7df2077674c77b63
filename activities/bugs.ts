/** Separates internal errors from failures that have an external cause. */
import { Context } from "@temporalio/activity";
import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import { bug } from "./failures.ts";

/**
 * The attempt whose internal error is final; earlier attempts are retried, because another worker may succeed if this
 * one is short of memory.
 */
const triesAtMost = 4;

type Step = (input: never) => Promise<unknown>;

/**
 * Returns the same steps, in which an error that is not one of `failures.ts` becomes an internal error, which is
 * retried only a few times.
 */
export function withBugsSorted<Steps extends Record<keyof Steps, Step>>(steps: Steps): Steps {
  const sorted = Object.entries<Step>(steps).map(([name, step]): [string, Step] => [name, async (input) => {
    try {
      return await step(input);
    } catch (error) {
      throw isSorted(error) ? error : bug(name, placeOf(error), Context.current().info.attempt >= triesAtMost);
    }
  }]);
  return Object.fromEntries(sorted) as Steps;
}

function isSorted(error: unknown): boolean {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return true;
  return Context.current().cancellationSignal.aborted; // the activity was cancelled, so its result is not used
}

/** Returns the class of an error and where it was thrown; its message may quote secret data and is left out. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const [, place] = /([^/\\\s()]+:\d+):\d+\)?$/m.exec(error.stack ?? "") ?? [];
  return place ? `${error.name} at ${place}` : error.name;
}
