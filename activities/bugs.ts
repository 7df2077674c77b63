/** Separates internal errors from failures that have an external cause. */
import { Context } from "@temporalio/activity";
import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import { bug } from "./failures.ts";

/**
 * Number of the attempt whose internal error is not retried any more. Earlier attempts are retried, because another
 * Temporal worker may succeed if this one is short of memory.
 */
const triesAtMost = 4;

type Step = (input: never) => Promise<unknown>;

/**
 * Returns the same activities, wrapped: an error that no function of `failures.ts` created becomes an internal error,
 * which Temporal retries only a few times.
 */
export function withBugsSorted<Steps extends Record<keyof Steps, Step>>(steps: Steps): Steps {
  const sorted = Object.entries<Step>(steps).map(([name, step]): [string, Step] => [name, async (input) => {
    try {
      return await step(input);
    } catch (error) {
      const { info, cancellationSignal: { aborted } } = Context.current();
      if (isSorted(error, aborted)) throw error;
      // An error after a cancellation may be its effect, and then another attempt may succeed.
      throw bug(name, placeOf(error), !aborted && info.attempt >= triesAtMost);
    }
  }]);
  return Object.fromEntries(sorted) as Steps;
}

function isSorted(error: unknown, isCancelled: boolean): boolean {
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return true;
  // Temporal's SDK reports only these errors as a cancellation, without their message; it sends any other error whole.
  return isCancelled && error instanceof Error && error.name === "AbortError";
}

/** Returns the class of an error and where it was thrown; its message may quote secret data and is left out. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const [, place] = /([^/\\\s()]+:\d+):\d+\)?$/m.exec(error.stack ?? "") ?? [];
  return place ? `${error.name} at ${place}` : error.name;
}
