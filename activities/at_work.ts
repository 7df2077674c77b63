/**
 * A sign of life from each short step while it is at work, so that a killed worker is noticed as soon as in a wait, and a slow
 * API server is not taken for one. Most steps are done before the first; waits give their own, with what they have seen.
 */
import { Context } from "@temporalio/activity";
import { beating } from "./kube/polling.ts";

/** Well within the heartbeat timeout, as the SDK holds some back. */
const beatMs = 3_000;

type Step = (input: never) => Promise<unknown>;

/** The same steps; one that nobody would miss, such as a local one, gives no sign. */
export function withSignsOfLife<Steps extends Record<keyof Steps, Step>>(steps: Steps): Steps {
  const alive = Object.entries<Step>(steps).map(([name, step]): [string, Step] => [name, async (input) => {
    const context = Context.current();
    if (!context.info.heartbeatTimeoutMs) return await step(input);
    return await beating(() => step(input), { pulse: () => context.heartbeat(), beat: beatMs });
  }]);
  return Object.fromEntries(alive) as Steps;
}
