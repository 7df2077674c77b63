/**
 * A worker that Temporal refuses for a minute fails, and does not always end: the SDK then waits for ever for what it
 * still holds (1.24). The process would stay up, not ready, whatever Temporal says later; so it ends and is started again.
 */
import { setTimeout } from "node:timers/promises";

/** Milliseconds between looks, and how long a worker that has failed may take to end by itself. */
export const failurePauses = { look: 1_000, grace: 5_000 };

interface Stateful {
  getState(): string;
}

/** Throws some time after one of them has failed; never ends otherwise, but with `signal`. */
export async function throwOnceFailed(
  workers: Stateful[],
  signal: AbortSignal,
  { look, grace } = failurePauses,
): Promise<never> {
  while (!workers.some((each) => each.getState() === "FAILED")) await setTimeout(look, undefined, { signal });
  await setTimeout(grace, undefined, { signal });
  throw new Error("Cannot go on with workers that Temporal has refused for a minute");
}
