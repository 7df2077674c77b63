/** Waiting that ends early when what is waited for stopped making sense. */
import { CancellationScope, condition, isCancellation, sleep } from "@temporalio/workflow";
import type { Desired, DesiredState } from "./contracts.ts";
import { prepare } from "./prepare.ts";
import { read } from "./proxies.ts";
import { report } from "./report.ts";
import type { Rollout } from "./rollout.ts";
import { troubleOf } from "./trouble.ts";

/** Still the same template and profile of the same object; scaling does not matter to a machine under way. */
export function isSameChange(desired: Desired): (seen: DesiredState) => boolean {
  return (seen) => seen.state === "Present" && seen.desired.change === desired.change;
}

/** Still the same in everything, scale included. */
export function isSame(desired: Desired): (seen: DesiredState) => boolean {
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
): Promise<{ done: T } | undefined> {
  const scope = new CancellationScope();
  const running = scope.run(work);
  const finished = running.then(() => true);
  try {
    for (;;) {
      if (await Promise.race([finished, nudge(rollout)])) return { done: await running };
      rollout.nudged = false;
      if (await holds(rollout, stillHolds, finished)) continue;
      // Before anything else can fail: the main loop must not wait for a nudge that was already taken.
      rollout.nudged = true;
      await abandon(scope, running);
      return undefined;
    }
  } finally {
    scope.cancel(); // no work goes on unwatched, whatever ended the wait
  }
}

async function nudge(rollout: Rollout): Promise<false> {
  await condition(() => rollout.nudged);
  return false;
}

// A world that cannot be seen has not changed as far as we know: look again soon, and let the work go on.
async function holds(
  rollout: Rollout,
  stillHolds: (seen: DesiredState) => boolean,
  finished: Promise<unknown>,
): Promise<boolean> {
  try {
    const seen = await read.readDesired.executeWithOptions({ summary: "Read what is desired now" }, [
      { pool: rollout.pool },
    ]);
    const same = stillHolds(seen);
    if (same && seen.state === "Present") await renewInPassing(rollout, seen.desired);
    if (same && rollout.shownPaused !== (rollout.paused !== null)) await report(rollout, rollout.standing);
    return same;
  } catch (error) {
    if (troubleOf(error).kind !== "unreachable") throw error;
    await Promise.race([finished, sleep("5s", { summary: "The API does not answer: look again soon" })]);
    rollout.nudged = true;
    return true;
  }
}

// A drain may last longer than credentials, and other machines boot meanwhile. What fails here fails again, and is
// told, when the wait is over.
async function renewInPassing(rollout: Rollout, desired: Desired): Promise<void> {
  const { publication } = rollout;
  const isDue = !publication || Date.now() >= Date.parse(publication.renewAt);
  if (!isDue || desired.change !== rollout.desired?.change) return;
  try {
    await prepare(rollout, desired);
    await report(rollout, rollout.standing);
  } catch (error) {
    if (troubleOf(error).kind === "rethrow") throw error;
  }
}

async function abandon(scope: CancellationScope, running: Promise<unknown>): Promise<void> {
  scope.cancel();
  try {
    await running;
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
}
