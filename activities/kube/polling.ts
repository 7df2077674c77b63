/** Looks again and again until there is an answer or an absolute time has come, with a heartbeat all the while. */
import { Context, type Info } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import { setTimeout as pause } from "node:timers/promises";
import type { Change, SharedWatch } from "./informer.ts";

interface Poll<T> {
  /** Epoch milliseconds of the last look. */
  until: number;
  /** Milliseconds between looks where there is no news to wait for; a function is asked after each of them. */
  every?: number | (() => number);
  /** Least milliseconds between looks that news asks for; half of `every` unless told. */
  gap?: number;
  /** Wakes it; as long as all news is heard of, nobody looks without any but once in a while. */
  news?: News;
  /** Epoch milliseconds of the next look at the latest; asked after each. */
  lookBy?: () => number;
  /** Gives the answer, or in `missing` what is still waited for (names only; it becomes the heartbeat). */
  look: () => Promise<{ answer: T } | { missing: string }>;
  /** Milliseconds between heartbeats; shorter than any heartbeat timeout. */
  beat?: number;
  /**
   * Where answers are judged by a deadline: what is answered when nobody could look for `ms`, given what the first look
   * afterwards says. An API server that is away is then waited for too.
   */
  unseen?: (ms: number, answer: T | undefined) => T;
  /** Makes the failure when the time has come. */
  expired: (missing: string) => Error;
}

/** Between looks without news: no watch is trusted for ever. */
const restMs = { from: 30_000, to: 45_000 };
/** Looks a second of all waits of a process together while they have to go by the clock. */
const looksPerSecond = 20;
const longestMs = 15_000;

/** Waits of this process that go by the clock though they are made for news. */
let deaf = 0;

/** Polls; a cancelled or timed-out activity stops at its next look, and at once while it rests. */
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
    if (Date.now() >= until) throw expired(seen.missing);
    last = seen.missing;
    pulse();
    await rest(sight?.isBlind ? { ...wait, every: blindRest(wait) } : wait, pulse);
  }
}

/** Milliseconds between looks at an API server that is away. */
function blindRest<T>({ every = 500 }: Poll<T>): number {
  return Math.min(5_000, 10 * (typeof every === "function" ? every() : every));
}

type Look<T> = { answer: T } | { missing: string };

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

/** Rests until there is news or it is time to look again. */
async function rest<T>(wait: Poll<T>, pulse: () => void): Promise<void> {
  const { until, news, lookBy, beat = 3_000 } = wait;
  const { cancellationSignal: signal } = Context.current();
  const every = typeof wait.every === "function" ? wait.every() : wait.every ?? 500;
  const begun = Date.now();
  const slow = restMs.from + Math.random() * (restMs.to - restMs.from);
  const gap = wait.gap ?? every / 2;
  // Who asks for a look in the past gets no look after look.
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
  // What changes all the time is not looked at all the time.
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

/** A look that takes longer hangs, although each request has an end of its own: the next try begins it afresh. */
const longestLookMs = 180_000;

// A look of many slow requests outlasts the heartbeat timeout, and each try of it would.
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

// What wakes a wait: changes of the objects that it is about, as shared watches tell of them.

/** Some objects of one kind. */
interface Source {
  /** All changes of them are told at the moment. */
  isFresh(): boolean;
  /** Calls back for each change of one of them; what concerns may become clear only when it is asked. */
  listen(tell: (concerns: () => boolean) => void): () => void;
}

/** Those objects of a watch that `concerns` picks. */
export function sourceOf<T>(watch: SharedWatch<T>, concerns: (change: Change<T>) => boolean): Source {
  return {
    isFresh: () => watch.isFresh,
    listen: (tell) => watch.listen((change) => tell(() => concerns(change))),
  };
}

/** Changes that may come during one look before they are all taken for news. */
const most = 1_000;

export class News implements Disposable {
  readonly #sources: readonly Source[];
  readonly #ends: (() => void)[];
  /** What came since the look began: whom a look finds decides what concerns it. */
  #pending: (() => boolean)[] = [];
  #wake: (() => void) | undefined;
  #isNew = false;

  constructor(sources: readonly Source[]) {
    this.#sources = sources;
    this.#ends = sources.map((source) => source.listen((concerns) => this.#hear(concerns)));
  }

  /** All news is heard of at once; else who waits has to look by itself. */
  get isHeard(): boolean {
    return this.#sources.every((source) => source.isFresh());
  }

  /** The last wait for it ended with news, and not by the clock. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** A look begins, which sees all that has happened until now. */
  begin(): void {
    this.#pending = [];
  }

  /** Waits for news since the look began; true when there is any, false after `ms`. */
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

// How long nobody could look at something that is waited for. Whatever kept us from it, the API server, Temporal or all
// workers being away: that time counts for no deadline. It is noted in the heartbeat, so that the next try knows.

/** Looks that are further apart had something in between: as long as no watch goes without one. */
const unseenFromMs = 90_000;
/** After an outage everybody reports again within this time, which does not count either. */
const graceMs = 30_000;

/** What the next try has to know. */
interface Noted {
  waitsFor: string;
  /** Epoch ms. */
  lookedAt: number;
}

/** By so much the clocks of a worker and of Temporal may differ: what is less may have been no wait at all. */
const skewMs = 600_000;

export class Sight {
  #lookedAt: number;
  #isBlind = false;

  /** Goes on where the try before it stopped; the first one begins when it was asked for. */
  constructor(
    { heartbeatDetails, scheduledTimestampMs }: Pick<Info, "heartbeatDetails" | "scheduledTimestampMs">,
    now = Date.now(),
  ) {
    const { lookedAt } = (heartbeatDetails ?? {}) as Partial<Noted>;
    const asked = scheduledTimestampMs ?? now;
    this.#lookedAt = lookedAt ?? (now - asked < skewMs ? now : asked);
  }

  /** The last look saw nothing. */
  get isBlind(): boolean {
    return this.#isBlind;
  }

  /** A look begins. */
  begin(): void {
    this.#isBlind = false;
  }

  /** Notes that there was no answer, and why. */
  missed(why: string): { missing: string } {
    this.#isBlind = true;
    return { missing: why };
  }

  /** Notes a look; gives the milliseconds that count for nothing, 0 for none. */
  looked(now: number): number {
    const gap = now - this.#lookedAt;
    this.#lookedAt = now;
    return gap < unseenFromMs ? 0 : gap + graceMs;
  }

  /** For the heartbeat. */
  noted(waitsFor: string): Noted {
    return { waitsFor, lookedAt: this.#lookedAt };
  }
}
