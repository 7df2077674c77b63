/** Steps of workflows that fail once before and once after their work, which Temporal sees like a killed worker. */
import { deepEqual } from "node:assert/strict";

type Step = (input: never) => Promise<unknown>;

/**
 * Returns the same steps, each of which fails once before and once after its work; adds "before step" and "after step"
 * to `broken`.
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
