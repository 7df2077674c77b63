/**
 * Sends heartbeats while a short activity runs, so that Temporal notices a killed worker process as early as during a
 * long wait, and does not mistake a slow API server for a killed process. Most short activities finish before the first
 * heartbeat; waits send their own heartbeats, with the state that they wait for.
 */
import { Context } from "@temporalio/activity";
import { beating } from "./kube/polling.ts";

/** Milliseconds between heartbeats: far less than the heartbeat timeout, because the SDK throttles heartbeats. */
const beatMs = 3_000;

type Step = (input: never) => Promise<unknown>;

/**
 * Returns the same activities, each of which sends heartbeats while it runs; an activity without a heartbeat timeout,
 * such as a local one, sends none.
 */
export function withSignsOfLife<Steps extends Record<keyof Steps, Step>>(steps: Steps): Steps {
  const alive = Object.entries<Step>(steps).map(([name, step]): [string, Step] => [name, async (input) => {
    const context = Context.current();
    if (!context.info.heartbeatTimeoutMs) return await step(input);
    return await beating(() => step(input), { pulse: () => context.heartbeat(), beat: beatMs });
  }]);
  return Object.fromEntries(alive) as Steps;
}
