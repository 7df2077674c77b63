/** Polls until there is an answer or an absolute deadline has passed, with heartbeats meanwhile. */
import { Context, type Info } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import { setTimeout as pause } from "node:timers/promises";
import type { Change, SharedWatch } from "./informer.ts";

interface Poll<T> {
  /** Deadline (epoch ms), at which the last read begins. */
  until: number;
  /** Milliseconds between reads without events; a function is called after each read. */
  every?: number | (() => number);
  /** Least milliseconds between reads caused by events; half of `every` by default. */
  gap?: number;
  /** Events that cause a read; while all of their watches are fresh, reads without an event are rare. */
  news?: News;
  /** Returns the latest time of the next read (epoch ms); called after each read. */
  lookBy?: () => number;
  /**
   * Returns the answer, or in `missing` what is still waited for (names only; it becomes the heartbeat). An `until`
   * (epoch ms) beside `missing` extends the deadline.
   */
  look: () => Promise<Look<T>>;
  /** Milliseconds between heartbeats; shorter than any heartbeat timeout. */
  beat?: number;
  /**
   * Set if the answer depends on a deadline. Called at the first successful read after an outage, with the milliseconds
   * that the deadline must not count, and with the answer of that read if it has one. The wait ends with what the
   * function returns. A wait with this function does not fail while the API server is unreachable.
   */
  unseen?: (ms: number, answer: T | undefined) => T;
  /** Creates the failure when the deadline has passed. */
  expired: (missing: string) => Error;
}

/** Milliseconds between reads while the watches are fresh but report no event, because a watch may miss one. */
const restMs = { from: 30_000, to: 45_000 };
/** Reads per second that all waits of a process may make together while their watches do not report events. */
const looksPerSecond = 20;
/** Maximum milliseconds between the reads of a wait whose watches do not report events, unless `every` is longer. */
const longestMs = 15_000;

/** Number of waits in this process that poll by the clock because their watches are not fresh. */
let deaf = 0;

/**
 * Calls `look` until it returns an answer, and returns the answer; throws what `expired` returns after the deadline. A
 * cancelled or timed-out activity stops at its next read, and at once during a pause.
 */
export async function poll<T>(wait: Poll<T>): Promise<T> {
  const { until, news, beat = 3_000, expired } = wait;
  const context = Context.current();
  const sight = wait.unseen ? new Sight(context.info) : undefined;
  let last = "";
  const pulse = (): void => context.heartbeat(sight ? sight.noted(last) : last);
  for (;;) {
    news?.begin();
    const seen = await beating(() => lookAt(wait, sight), { pulse, beat });
    if ("answer" in seen) return seen.answer;
    const end = Math.max(until, seen.until ?? 0);
    if (Date.now() >= end) throw expired(seen.missing);
    last = seen.missing;
    pulse();
    await rest({ ...wait, until: end, ...(sight?.isBlind ? { every: blindRest(wait) } : {}) }, pulse);
  }
}

/** Returns the milliseconds between reads while the API server is unreachable. */
function blindRest<T>({ every = 500 }: Poll<T>): number {
  return Math.min(5_000, 10 * (typeof every === "function" ? every() : every));
}

type Look<T> = { answer: T } | { missing: string; until?: number };

async function lookAt<T>({ look, unseen }: Poll<T>, sight: Sight | undefined): Promise<Look<T>> {
  if (!sight || !unseen) return await look();
  sight.begin();
  const seen = await look().catch((error: unknown): Look<T> => {
    if (!isAway(error)) throw error;
    return sight.missed(error.message);
  });
  const ms = sight.isBlind ? 0 : sight.looked(Date.now());
  if (ms === 0) return seen;
  return { answer: unseen(ms, "answer" in seen ? seen.answer : undefined) };
}

function isAway(error: unknown): error is ApplicationFailure {
  return error instanceof ApplicationFailure && error.type === "ApiUnavailable";
}

/** Waits for an event or the time of the next read. */
async function rest<T>(wait: Poll<T>, pulse: () => void): Promise<void> {
  const { until, news, lookBy, beat = 3_000 } = wait;
  const { cancellationSignal: signal } = Context.current();
  const every = typeof wait.every === "function" ? wait.every() : wait.every ?? 500;
  const begun = Date.now();
  const slow = restMs.from + Math.random() * (restMs.to - restMs.from);
  const gap = wait.gap ?? every / 2;
  // A `lookBy` in the past must not cause reads without a pause.
  const latest = Math.max(begun + 1, Math.min(until, Math.max(begun + gap, lookBy?.() ?? Infinity)));
  for (let [isNews, beaten] = [false, begun]; !isNews;) {
    const isDeaf = news !== undefined && !news.isHeard;
    if (isDeaf) deaf += 1;
    try {
      const byClock = isDeaf || !news ? Math.max(every, Math.min(longestMs, deaf * 1000 / looksPerSecond)) : slow;
      const left = Math.min(latest, begun + byClock) - Date.now();
      if (left <= 0) return;
      if (Date.now() - beaten >= beat) {
        pulse();
        beaten = Date.now();
      }
      isNews = await next(news, Math.min(left, beat), signal);
    } finally {
      if (isDeaf) deaf -= 1;
    }
  }
  // After an event, waits until `gap` has passed since the last read, so that constant changes do not cause constant
  // reads.
  const left = begun + gap - Date.now();
  if (left > 0) await next(undefined, left, signal);
}

async function next(news: News | undefined, ms: number, signal: AbortSignal): Promise<boolean> {
  if (news) return await news.next(ms, signal);
  await pause(ms, undefined, { signal }).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw cause;
  });
  return false;
}

/** Milliseconds after which a read counts as hanging: its heartbeats end, so that Temporal starts the next attempt. */
const longestLookMs = 180_000;

// Sends heartbeats during a read: without them, a read of many slow requests would time out at every attempt.
export async function beating<T>(
  look: () => Promise<T>,
  { pulse, beat }: { pulse: () => void; beat: number },
): Promise<T> {
  const timer = setInterval(pulse, beat);
  const end = setTimeout(() => clearInterval(timer), longestLookMs);
  try {
    return await look();
  } finally {
    clearInterval(timer);
    clearTimeout(end);
  }
}

// Events that wake a wait: changes of its objects, as reported by shared watches.

/** Some objects of one kind, whose changes wake a wait. */
interface Source {
  /** Whether all changes of these objects are currently reported. */
  isFresh(): boolean;
  /**
   * Calls `tell` for each change of one of the objects, until the returned function is called. The wait calls
   * `concerns` only after its read, because what the read finds decides whether a change concerns the wait.
   */
  listen(tell: (concerns: () => boolean) => void): () => void;
}

/** Returns a source that reports the changes in a watch for which `concerns` returns true. */
export function sourceOf<T>(watch: SharedWatch<T>, concerns: (change: Change<T>) => boolean): Source {
  return {
    isFresh: () => watch.isFresh,
    listen: (tell) => watch.listen((change) => tell(() => concerns(change))),
  };
}

/** After more changes than this during one read, the wait reads again without checking whether they concern it. */
const most = 1_000;

/** The events of all sources of one wait. */
export class News implements Disposable {
  readonly #sources: readonly Source[];
  readonly #ends: (() => void)[];
  /** Changes since the read began; what the read finds decides which of these changes concern the wait. */
  #pending: (() => boolean)[] = [];
  #wake: (() => void) | undefined;
  #isNew = false;

  constructor(sources: readonly Source[]) {
    this.#sources = sources;
    this.#ends = sources.map((source) => source.listen((concerns) => this.#hear(concerns)));
  }

  /** Whether every change is currently reported without delay; else the wait has to poll. */
  get isHeard(): boolean {
    return this.#sources.every((source) => source.isFresh());
  }

  /** Whether the last pause ended with an event, and not by the clock. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** Marks the start of a read, which sees all changes until now. */
  begin(): void {
    this.#pending = [];
  }

  /**
   * Waits for an event, or for `ms`; returns whether an event came since the read began. Throws if the signal aborts.
   */
  async next(ms: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    const isPending = this.#pending.length > most || this.#pending.some((concerns) => concerns());
    this.#pending = [];
    return this.#isNew = isPending || await this.#wait(ms, signal);
  }

  async #wait(ms: number, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), ms);
    const stop = (): void => resolve(false);
    signal.addEventListener("abort", stop, { once: true });
    this.#wake = () => resolve(true);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#wake = undefined;
      signal.removeEventListener("abort", stop);
      signal.throwIfAborted();
    }
  }

  [Symbol.dispose](): void {
    for (const end of this.#ends) end();
  }

  #hear(concerns: () => boolean): void {
    if (!this.#wake) {
      if (this.#pending.length <= most) this.#pending.push(concerns);
    } else if (concerns()) this.#wake();
  }
}

// Deadlines do not count the time during which the awaited object could not be read because the API server, Temporal or
// all workers were unreachable. The heartbeat records the time of the last read for the next attempt.

/** Two successful reads this far apart (ms) show an outage between them, because a wait otherwise reads more often. */
const unseenFromMs = 90_000;
/**
 * Milliseconds after an outage that do not count either, because kubelets and controllers need them to report again.
 */
const graceMs = 30_000;

/** The heartbeat details, with which the next attempt continues. */
interface Noted {
  waitsFor: string;
  /** Time of the last successful read (epoch ms). */
  lookedAt: number;
}

/** Milliseconds by which the clocks of a worker and of Temporal may differ. */
const skewMs = 600_000;

/** The times of the successful reads of one wait, which show its outages. */
export class Sight {
  #lookedAt: number;
  #isBlind = false;

  /**
   * Continues from the last successful read of an earlier attempt. Without such a read, counts from now, or from the
   * scheduling of the activity if that is at least `skewMs` ago.
   */
  constructor(
    { heartbeatDetails, scheduledTimestampMs }: Pick<Info, "heartbeatDetails" | "scheduledTimestampMs">,
    now = Date.now(),
  ) {
    const { lookedAt } = (heartbeatDetails ?? {}) as Partial<Noted>;
    const asked = scheduledTimestampMs ?? now;
    this.#lookedAt = lookedAt ?? (now - asked < skewMs ? now : asked);
  }

  /** Whether the last read failed. */
  get isBlind(): boolean {
    return this.#isBlind;
  }

  /** Marks the start of a read. */
  begin(): void {
    this.#isBlind = false;
  }

  /** Records that a read failed; returns the cause in `missing`, for the heartbeat. */
  missed(why: string): { missing: string } {
    this.#isBlind = true;
    return { missing: why };
  }

  /**
   * Records a successful read; returns the milliseconds of the outage before it plus `graceMs`, or 0 without an outage.
   */
  looked(now: number): number {
    const gap = now - this.#lookedAt;
    this.#lookedAt = now;
    return gap < unseenFromMs ? 0 : gap + graceMs;
  }

  /** Returns the details for the heartbeat. */
  noted(waitsFor: string): Noted {
    return { waitsFor, lookedAt: this.#lookedAt };
  }
}
