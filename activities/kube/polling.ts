/** Looks again and again until there is an answer or an absolute time has come, with a heartbeat all the while. */
import { Context } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import { setTimeout as pause } from "node:timers/promises";
import type { News } from "./news.ts";
import { Sight } from "./sight.ts";

export interface Poll<T> {
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
