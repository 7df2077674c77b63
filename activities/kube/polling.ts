/** Looks again and again until there is an answer or an absolute time has come, with a heartbeat at each look. */
import { Context } from "@temporalio/activity";
import { setTimeout } from "node:timers/promises";

export interface Poll<T> {
  /** Epoch milliseconds of the last look. */
  until: number;
  /** Milliseconds between looks; a function is asked after each of them. */
  every?: number | (() => number);
  /** Gives the answer, or in `missing` what is still waited for (names only; it becomes the heartbeat). */
  look: () => Promise<{ answer: T } | { missing: string }>;
  /** Makes the failure when the time has come. */
  expired: (missing: string) => Error;
}

/** Polls; a cancelled or timed-out activity stops at its next look. */
export async function poll<T>({ until, every = 500, look, expired }: Poll<T>): Promise<T> {
  const context = Context.current();
  for (;;) {
    const seen = await look();
    if ("answer" in seen) return seen.answer;
    if (Date.now() >= until) throw expired(seen.missing);
    context.heartbeat(seen.missing);
    const rest = typeof every === "number" ? every : every();
    await setTimeout(Math.min(rest, Math.max(1, until - Date.now())), undefined, {
      signal: context.cancellationSignal,
    })
      .catch((cause: unknown) => {
        context.cancellationSignal.throwIfAborted();
        throw cause;
      });
  }
}
