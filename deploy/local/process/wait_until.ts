/**
 * Polls until something outside this process, such as a server, has reached the awaited state; the error at the
 * deadline includes why the last check failed.
 */
import { setTimeout as pause } from "node:timers/promises";

/** One check: resolves if the awaited state is reached, otherwise rejects with an error about what is missing. */
export type Probe<T = void> = (signal: AbortSignal) => Promise<T>;

export interface WaitOptions {
  /** The awaited state, as it reads after "Timed out after 30 s waiting for". */
  readonly what: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /**
   * The first and the longest pause between two attempts; by default 20 and 250 ms, and longer after a slow attempt.
   */
  readonly pausesMs?: readonly [first: number, longest: number];
  /** Time after which an attempt is given up and repeated (default 5 s). */
  readonly attemptMs?: number;
  /** Maximum number of attempts; after the last one the wait ends even before `timeoutMs` (default unlimited). */
  readonly attempts?: number;
  /** Returns whether an error of an attempt ends the wait; by default none does. */
  readonly isFinal?: (error: unknown) => boolean;
}

/** Thrown by a probe that saw another state than the awaited one; never ends a wait. */
export class NotYet extends Error {
  constructor(seen: unknown) {
    super(`last seen: ${typeof seen === "string" ? seen : JSON.stringify(seen) ?? "nothing"}`);
  }
}

/** Thrown when the time or the attempts of a wait are used up; `cause` is the last error of an attempt. */
export class WaitTimeout extends Error {
  constructor(message: string, readonly attempts: number, cause: unknown) {
    super(message, { cause });
  }
}

const defaultPausesMs = [20, 250] as const;
const defaultAttemptMs = 5_000;
/**
 * After a slow probe, such as one that starts a process, the pause is this many times the duration of the probe, up to
 * `longestPauseAfterProbeMs`.
 */
const pausePerProbe = 3;
const longestPauseAfterProbeMs = 2_000;
const noAnswer = new Error("the last check did not end in time");

/**
 * Resolves with the result of `probe` when it succeeds. Rejects with WaitTimeout, which includes the last reason, at
 * the deadline or after the last attempt. Rejects immediately with a final error or the signal's reason.
 */
export async function waitUntil<T>(probe: Probe<T>, options: WaitOptions): Promise<T> {
  const { timeoutMs, signal, pausesMs = defaultPausesMs, attemptMs = defaultAttemptMs } = options;
  const deadline = performance.now() + timeoutMs;
  let pauseMs = pausesMs[0];
  let reason: unknown;
  for (let tried = 1;; tried++) {
    const begin = performance.now();
    const outcome = await attempt(probe, Math.min(attemptMs, deadline - begin), signal);
    if ("value" in outcome) return outcome.value;
    const { missing } = outcome;
    if (missing !== noAnswer && !(missing instanceof NotYet) && options.isFinal?.(missing)) throw missing;
    const now = performance.now();
    // A probe that the deadline interrupted reports no useful reason, so the reason of the previous probe is kept. The
    // comparison is with 1 ms, because timers may fire 1 ms early.
    if (deadline - now > 1) reason = missing;
    if (tried === options.attempts || now + pauseMs >= deadline) throw expired(options, tried, reason ?? missing);
    const afterProbe = options.pausesMs ? 0 : Math.min(pausePerProbe * (now - begin), longestPauseAfterProbeMs);
    // The pause must not skip the last probe before the deadline.
    const untilNext = Math.min(Math.max(pauseMs, afterProbe), deadline - now - pauseMs);
    await pause(untilNext, undefined, signal ? { signal } : {}).catch((error: unknown) => {
      throw signal?.reason ?? error;
    });
    pauseMs = Math.min(pauseMs * 2, pausesMs[1]);
  }
}

/** Resolves with the first result of `look` that is neither undefined nor false; rejects like `waitUntil`. */
export async function waitFor<T>(
  look: (signal: AbortSignal) => Promise<T | undefined | false> | T | undefined | false,
  options: WaitOptions,
): Promise<T> {
  return await waitUntil(async (signal) => {
    const seen = await look(signal);
    if (seen === undefined || seen === false) throw new NotYet(seen);
    return seen;
  }, options);
}

async function attempt<T>(
  probe: Probe<T>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<{ value: T } | { missing: unknown }> {
  signal?.throwIfAborted();
  const cut = new AbortController();
  const abort = (): void => cut.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const timer = setTimeout(() => cut.abort(noAnswer), Math.max(timeoutMs, 1));
  try {
    const cutShort = rejectionOf(cut.signal);
    return { value: await Promise.race([cutShort, probe(cut.signal)]) };
  } catch (error) {
    signal?.throwIfAborted();
    return { missing: error ?? new Error("No reason given") };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

// A probe that ignores its signal must not extend the wait beyond the deadline.
function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

function expired({ what, timeoutMs, attempts }: WaitOptions, tried: number, missing: unknown): Error {
  const reason = missing instanceof Error ? missing.message : String(missing);
  const end = tried === attempts ? `Gave up after ${tried} attempts` : `Timed out after ${timeoutMs / 1000} s`;
  return new WaitTimeout(`${end} waiting for ${what}: ${reason}`, tried, missing);
}
