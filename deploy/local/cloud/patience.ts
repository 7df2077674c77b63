import { setTimeout as delay } from "node:timers/promises";
import { reasonOf } from "./kube.ts";

/** How long, and how often, one step is tried. */
export interface Patience {
  attempts: number;
  seconds: number;
  signal: AbortSignal;
}

/** A permanent failure, which is not retried. */
export class Hopeless extends Error {}

const callSeconds = 10;

/**
 * Retries an attempt with growing pauses; throws the last reason when attempts or time run out, and immediately when
 * the failure is permanent or the signal aborts.
 */
export async function persist<T>(patience: Patience, attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + patience.seconds * 1000;
  for (let tried = 1;; tried++) {
    patience.signal.throwIfAborted();
    try {
      return await withinSeconds(callSeconds, attempt());
    } catch (error) {
      const pauseMs = Math.min(250 * 2 ** (tried - 1), 5000);
      if (error instanceof Hopeless || patience.signal.aborted) throw error;
      if (tried >= patience.attempts || Date.now() + pauseMs > deadline) {
        throw new Error(`${reasonOf(error)} (gave up after ${tried} attempts)`);
      }
      await delay(pauseMs, undefined, { signal: patience.signal });
    }
  }
}

/** Polls every 250 ms until there is a result; throws when the time is up. */
export async function poll<T>(
  options: { what: string; seconds: number; signal: AbortSignal },
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = Date.now() + options.seconds * 1000;
  let last = "no answer";
  while (Date.now() < deadline) {
    options.signal.throwIfAborted();
    try {
      const answer = await withinSeconds(callSeconds, ask());
      if (answer !== undefined) return answer;
      last = "no answer";
    } catch (error) {
      if (error instanceof Hopeless) throw error;
      last = reasonOf(error);
    }
    await delay(250, undefined, { signal: options.signal });
  }
  throw new Hopeless(`Timed out after ${options.seconds} s waiting for ${options.what}: ${last}`);
}

/** Sleeps; returns early, without an error, when the signal aborts. */
export async function rest(seconds: number, signal: AbortSignal): Promise<void> {
  if (seconds <= 0 || signal.aborted) return;
  await delay(seconds * 1000, undefined, { signal }).catch(() => {});
}

/** Throws if the call has no result in time; a call that hangs is not cancelled. */
export async function withinSeconds<T>(seconds: number, call: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expiry = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${seconds} seconds`)), seconds * 1000);
  });
  try {
    return await Promise.race([call, expiry]);
  } finally {
    clearTimeout(timer);
  }
}
