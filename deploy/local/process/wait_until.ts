import { setTimeout as pause } from "node:timers/promises";

/** One check: resolves if the awaited state is reached, and throws what is still missing otherwise. */
export type Probe = (signal: AbortSignal) => Promise<void>;

export interface WaitOptions {
  /** What is awaited, as it completes "Timed out after 30 s waiting for …". */
  readonly what: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

const firstPauseMs = 20;
const longestPauseMs = 250;
const longestAttemptMs = 5_000;
/** The pause after a slow probe, such as one that starts a process, is this many times its duration, up to a bound. */
const pausePerProbe = 3;
const longestPauseAfterProbeMs = 2_000;

/**
 * Resolves when `probe` succeeds; rejects at the deadline with the last reason, or immediately with the signal's
 * reason.
 */
export async function waitUntil(probe: Probe, options: WaitOptions): Promise<void> {
  const deadline = performance.now() + options.timeoutMs;
  let pauseMs = firstPauseMs;
  let reason: unknown;
  while (true) {
    const begin = performance.now();
    const missing = await attempt(probe, Math.min(longestAttemptMs, deadline - begin), options.signal);
    if (missing === undefined) return;
    const now = performance.now();
    // A probe interrupted by the deadline explains less than the previous one; timers may fire a millisecond early.
    if (deadline - now > 1) reason = missing;
    if (now + pauseMs >= deadline) throw expired(options, reason ?? missing);
    const afterProbe = Math.min(pausePerProbe * (now - begin), longestPauseAfterProbeMs);
    // The pause must not skip the last probe before the deadline.
    const untilNext = Math.min(Math.max(pauseMs, afterProbe), deadline - now - pauseMs);
    await pause(untilNext, undefined, options.signal ? { signal: options.signal } : {}).catch((error: unknown) => {
      throw options.signal?.reason ?? error;
    });
    pauseMs = Math.min(pauseMs * 1.5, longestPauseMs);
  }
}

async function attempt(probe: Probe, timeoutMs: number, signal?: AbortSignal): Promise<unknown> {
  signal?.throwIfAborted();
  const cut = new AbortController();
  const abort = (): void => cut.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const timer = setTimeout(() => cut.abort(new Error("No answer")), Math.max(timeoutMs, 1));
  try {
    const cutShort = rejectionOf(cut.signal);
    await Promise.race([cutShort, probe(cut.signal)]);
    return undefined;
  } catch (error) {
    signal?.throwIfAborted();
    return error ?? new Error("No reason given");
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

// A probe that ignores its signal must not extend the wait beyond the deadline.
function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

function expired(options: WaitOptions, missing: unknown): Error {
  const reason = missing instanceof Error ? missing.message : String(missing);
  return new Error(`Timed out after ${options.timeoutMs / 1000} s waiting for ${options.what}: ${reason}`, {
    cause: missing,
  });
}
