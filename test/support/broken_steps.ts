/**
 * Makes each activity fail once before and once after its work, as if its Temporal worker were killed at these points.
 */
import { deepEqual } from "node:assert/strict";

type Step = (input: never) => Promise<unknown>;

/**
 * Returns the activities `steps` so that the first call of each fails before its work, and the second call after its
 * work. Each such failure is added to `broken`, as "before <activity>" or "after <activity>".
 */
export function breakEachOnce(steps: object): { steps: Record<string, Step>; broken: Set<string> } {
  const broken = new Set<string>();
  const breakAt = (point: string): void => {
    if (broken.has(point)) return;
    broken.add(point);
    throw new Error(`The worker died ${point}`);
  };
  const wrapped = Object.entries(steps as Record<string, Step>).map(([name, step]): [string, Step] => [
    name,
    async (input) => {
      breakAt(`before ${name}`);
      const answer = await step(input);
      breakAt(`after ${name}`);
      return answer;
    },
  ]);
  return { steps: Object.fromEntries(wrapped), broken };
}

/** Fails unless each of these steps was interrupted before and after its work. */
export function assertAllBroken(broken: ReadonlySet<string>, steps: readonly string[]): void {
  const points = steps.flatMap((step) => [`before ${step}`, `after ${step}`]);
  deepEqual(points.filter((point) => !broken.has(point)), [], [...broken].join(", "));
}
