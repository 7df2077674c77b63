import { setTimeout as delay } from "node:timers/promises";
import { waitFor, WaitTimeout, waitUntil } from "../process/wait_until.ts";
import { reasonOf } from "./kube.ts";

/** Limits for the attempts of one step: their number, their time in total, and a signal that ends them. */
export interface Patience {
  attempts: number;
  seconds: number;
  signal: AbortSignal;
}

/** A permanent failure, which is not retried. */
export class Hopeless extends Error {}

const callSeconds = 10;
const isFinal = (error: unknown): boolean => error instanceof Hopeless;

/**
 * Retries an attempt with growing pauses; throws the last reason when attempts or time run out, and immediately when
 * the failure is permanent or the signal aborts.
 */
export async function persist<T>({ attempts, seconds, signal }: Patience, attempt: () => Promise<T>): Promise<T> {
  return await waitUntil(attempt, {
    ...{ what: "a call to succeed", timeoutMs: seconds * 1000, attempts, signal, isFinal },
    ...{ attemptMs: callSeconds * 1000, pausesMs: [250, 5_000] },
  }).catch((error: unknown) => {
    if (!(error instanceof WaitTimeout)) throw error;
    throw new Error(`${reasonOf(error.cause)} (gave up after ${error.attempts} attempts)`);
  });
}

/** Polls every 250 ms until there is a result; throws Hopeless when the time is up. */
export async function poll<T>(
  { what, seconds, signal }: { what: string; seconds: number; signal: AbortSignal },
  ask: () => Promise<T | undefined>,
): Promise<T> {
  return await waitFor(ask, {
    ...{ what, timeoutMs: seconds * 1000, signal, isFinal },
    ...{ attemptMs: callSeconds * 1000, pausesMs: [250, 250] },
  }).catch((error: unknown) => {
    if (!(error instanceof WaitTimeout)) throw error;
    throw new Hopeless(`Timed out after ${seconds} s waiting for ${what}: ${reasonOf(error.cause)}`);
  });
}

/** Sleeps; returns early, without an error, when the signal aborts. */
export async function rest(seconds: number, signal: AbortSignal): Promise<void> {
  if (seconds <= 0 || signal.aborted) return;
  await delay(seconds * 1000, undefined, { signal }).catch(() => {});
}

/** Awaits a call, and throws if it has no result in time; does not cancel the call. */
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
