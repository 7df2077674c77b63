/** Faults of our own code, sorted from what the world did. */
import { Context } from "@temporalio/activity";
import { ApplicationFailure, CancelledFailure } from "@temporalio/common";
import { bug } from "./failures.ts";

/** A fault may be of one worker alone, such as one that is short of memory: another may do better. */
const triesAtMost = 4;

type Step = (input: never) => Promise<unknown>;

/** The same steps; what they throw that is no failure of the world is told as our fault, and tried a few times only. */
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
  return Context.current().cancellationSignal.aborted; // whatever it broke, nobody waits for it
}

/** Its class, and where it was thrown; its own words may quote what was read, which may be secret. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const [, place] = /([^/\\\s()]+:\d+):\d+\)?$/m.exec(error.stack ?? "") ?? [];
  return place ? `${error.name} at ${place}` : error.name;
}
