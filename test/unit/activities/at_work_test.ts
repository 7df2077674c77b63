import { deepEqual, equal, rejects } from "node:assert/strict";
import { withSignsOfLife } from "../../../activities/at_work.ts";
import { inActivity } from "../../support/activity_context.ts";

/** Lets `beats` timers of 3 s pass while `step` is at work, and gives the heartbeats that were sent. */
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
    equal(timers.size, 0, "a timer goes on");
  } finally {
    Object.assign(globalThis, { setInterval, clearInterval });
  }
  return heartbeats;
}

Deno.test("a short step gives a sign of life as long as it is at work, without a word that a wait could take for its own", async () => {
  const beats = await signsOf(10_000, (beat) => Promise.resolve([beat(), beat()]));
  deepEqual(beats, [undefined, undefined]);
});

Deno.test("a short step that failed gives no sign of life any more", async () => {
  const fail = (beat: () => void): Promise<never> => {
    beat();
    return Promise.reject(new Error("as it should"));
  };
  equal((await signsOf(10_000, fail)).length, 1);
});

Deno.test("a step that nobody would miss gives no sign of life", async () => {
  deepEqual(await signsOf(undefined, (beat) => Promise.resolve(beat())), []);
});

Deno.test("withSignsOfLife gives what its steps give, and throws what they throw", async () => {
  const steps = withSignsOfLife({
    double: (input: { of: number }) => Promise.resolve(2 * input.of),
    fail: (_: object) => Promise.reject<void>(new Error("no")),
  });
  equal(await inActivity(() => steps.double({ of: 21 }), { heartbeatTimeoutMs: 10_000 }), 42);
  await rejects(inActivity(() => steps.fail({}), { heartbeatTimeoutMs: 10_000 }), { message: "no" });
});
