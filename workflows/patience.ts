/** Waiting that ends early when what is waited for stopped making sense. */
import { CancellationScope, condition, isCancellation } from "@temporalio/workflow";
import type { Desired, DesiredState } from "./contracts.ts";
import { read } from "./proxies.ts";
import type { Rollout } from "./rollout.ts";

/** Still the same change of the same object. */
export function isSameChange(desired: Desired): (seen: DesiredState) => boolean {
  return (seen) => seen.state === "Present" && seen.desired.observed === desired.observed;
}

/** Still an object to care for, whatever it asks for: removing a machine is finished before anything else. */
export function isPresent(seen: DesiredState): boolean {
  return seen.state === "Present";
}

/**
 * Runs `work` until it is done, or until a nudge shows a world for which `stillHolds` is false.
 * Gives `undefined` in the second case: the work is cancelled and the main loop plans again.
 */
export async function whileTrue<T>(
  rollout: Rollout,
  stillHolds: (seen: DesiredState) => boolean,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const scope = new CancellationScope();
  const running = scope.run(work);
  const finished = running.then(() => true);
  for (;;) {
    if (await Promise.race([finished, nudge(rollout)])) return await running;
    rollout.nudged = false;
    const seen = await read.readDesired.executeWithOptions({ summary: "Read what is desired now" }, [
      { pool: rollout.pool },
    ]);
    if (stillHolds(seen)) continue;
    await abandon(scope, running);
    rollout.nudged = true;
    return undefined;
  }
}

async function nudge(rollout: Rollout): Promise<false> {
  await condition(() => rollout.nudged);
  return false;
}

async function abandon(scope: CancellationScope, running: Promise<unknown>): Promise<void> {
  scope.cancel();
  try {
    await running;
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
}
