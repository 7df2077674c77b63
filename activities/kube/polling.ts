/** Looks again and again until there is an answer or an absolute time has come, with a heartbeat at each look. */
import { Context } from "@temporalio/activity";
import { setTimeout as pause } from "node:timers/promises";

export interface Poll<T> {
  /** Epoch milliseconds of the last look. */
  until: number;
  /** Milliseconds between looks; a function is asked after each of them. */
  every?: number | (() => number);
  /** Gives the answer, or in `missing` what is still waited for (names only; it becomes the heartbeat). */
  look: () => Promise<{ answer: T } | { missing: string }>;
  /** Milliseconds between the heartbeats of a look that takes longer; shorter than any heartbeat timeout. */
  beat?: number;
  /** Makes the failure when the time has come. */
  expired: (missing: string) => Error;
}

/** Polls; a cancelled or timed-out activity stops at its next look. */
export async function poll<T>({ until, every = 500, look, beat = 3_000, expired }: Poll<T>): Promise<T> {
  const context = Context.current();
  let last = "";
  for (;;) {
    const seen = await beating(look, { last, beat });
    if ("answer" in seen) return seen.answer;
    if (Date.now() >= until) throw expired(seen.missing);
    last = seen.missing;
    context.heartbeat(last);
    const rest = typeof every === "number" ? every : every();
    await pause(Math.min(rest, Math.max(1, until - Date.now())), undefined, {
      signal: context.cancellationSignal,
    })
      .catch((cause: unknown) => {
        context.cancellationSignal.throwIfAborted();
        throw cause;
      });
  }
}

/** A look that takes longer hangs, although each request has an end of its own: the next try begins it afresh. */
const longestLookMs = 180_000;

// A look of many slow requests outlasts the heartbeat timeout, and each try of it would.
async function beating<T>(look: () => Promise<T>, { last, beat }: { last: string; beat: number }): Promise<T> {
  const context = Context.current();
  const pulse = setInterval(() => context.heartbeat(last), beat);
  const end = setTimeout(() => clearInterval(pulse), longestLookMs);
  try {
    return await look();
  } finally {
    clearInterval(pulse);
    clearTimeout(end);
  }
}
