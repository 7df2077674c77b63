/**
 * Answers that the work on many pools has in common: for a moment one of them serves all who ask. For those alone who
 * notice an answer that is out of date, and then write nothing.
 */
import type { Kube } from "./client.ts";

const momentMs = 10_000;

interface Recent {
  answer: Promise<unknown>;
  /** Epoch ms at which it was asked for. */
  at: number;
}

export class RecentReads {
  /** In the order in which they were asked for. */
  readonly #answers = new Map<string, Recent>();

  /** The answer to `what`, which `read` asks for where nobody did a moment ago. */
  async once<T>(what: string, read: () => Promise<T>, now = Date.now()): Promise<T> {
    for (const [key, { at }] of this.#answers) if (now - at >= momentMs) this.#answers.delete(key);
    const known = this.#answers.get(what);
    if (known) return await known.answer as T;
    const answer = read();
    this.#answers.set(what, { answer, at: now });
    try {
      return await answer;
    } catch (error) {
      // What failed is asked for again by the next one.
      if (this.#answers.get(what)?.answer === answer) this.#answers.delete(what);
      throw error;
    }
  }
}

const known = new WeakMap<object, RecentReads>();

/** Those of one API server in this process. */
export function recentReadsOf(kube: Kube): RecentReads {
  const reads = known.get(kube.core) ?? new RecentReads();
  known.set(kube.core, reads);
  return reads;
}

/** Asks at once where nothing recent will do. */
export function askedOnce<T>(recent: RecentReads | undefined, what: string, read: () => Promise<T>): Promise<T> {
  return recent ? recent.once(what, read) : read();
}
