import { deepEqual, equal, rejects } from "node:assert/strict";
import { withSignsOfLife } from "../../../activities/at_work.ts";
import { inActivity } from "../../support/activity_context.ts";

/**
 * Runs `step`, in which each call of `beat` lets the heartbeat timer fire once, and returns the heartbeats that were
 * sent.
 */
async function signsOf(
  heartbeatTimeoutMs: number | undefined,
  step: (beat: () => void) => Promise<unknown>,
): Promise<unknown[]> {
  const heartbeats: unknown[] = [];
  const timers = new Set<() => void>();
  const { setInterval, clearInterval } = globalThis;
  globalThis.setInterval = ((timer: () => void) => {
    timers.add(timer);
    return timer;
  }) as unknown as typeof setInterval;
  globalThis.clearInterval = ((timer: () => void) => void timers.delete(timer)) as unknown as typeof clearInterval;
  const steps = withSignsOfLife({ step: (_: object) => step(() => timers.forEach((timer) => timer())) });
  try {
    const run = { heartbeats, ...(heartbeatTimeoutMs === undefined ? {} : { heartbeatTimeoutMs }) };
    await inActivity(() => steps.step({}), run).catch((error: unknown) => {
      if ((error as Error).message !== "as it should") throw error;
    });
    equal(timers.size, 0, "A timer continues to run");
  } finally {
    Object.assign(globalThis, { setInterval, clearInterval });
  }
  return heartbeats;
}

Deno.test("withSignsOfLife: sends heartbeats without details while a short step runs", async () => {
  const beats = await signsOf(10_000, (beat) => Promise.resolve([beat(), beat()]));
  deepEqual(beats, [undefined, undefined]);
});

Deno.test("withSignsOfLife: sends no heartbeat after a short step has failed", async () => {
  const fail = (beat: () => void): Promise<never> => {
    beat();
    return Promise.reject(new Error("as it should"));
  };
  equal((await signsOf(10_000, fail)).length, 1);
});

Deno.test("withSignsOfLife: sends no heartbeat for a step without a heartbeat timeout", async () => {
  deepEqual(await signsOf(undefined, (beat) => Promise.resolve(beat())), []);
});

Deno.test("withSignsOfLife: returns and throws what its steps return and throw", async () => {
  const steps = withSignsOfLife({
    double: (input: { of: number }) => Promise.resolve(2 * input.of),
    fail: (_: object) => Promise.reject<void>(new Error("no")),
  });
  equal(await inActivity(() => steps.double({ of: 21 }), { heartbeatTimeoutMs: 10_000 }), 42);
  await rejects(inActivity(() => steps.fail({}), { heartbeatTimeoutMs: 10_000 }), { message: "no" });
});
