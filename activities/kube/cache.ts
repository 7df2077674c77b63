/**
 * Keeps what one process has read from a cluster, to use it again: answers and values. The answer to a request serves
 * every caller that asked before the request began, or within `freshMs` after its begin. Values have a `Shelf` that
 * limits their number: a value is kept until it is deleted, or until newer values of the shelf displace it.
 */

/** Milliseconds, more than most answers take, after which a caller no longer waits for another caller's request. */
const patienceMs = 1_000;
/** Maximum number of kept answers; each is small, or shared by many pools. */
const mostAnswers = 1_000;

interface Answer {
  current: Promise<unknown>;
  /** Epoch ms at which the request began. */
  begunAt: number;
  freshMs: number;
  isSettled: boolean;
  /** The next answer, for all callers that came since `current` began. */
  next?: Promise<unknown>;
}

interface Freshness {
  /** Age in milliseconds at which an answer no longer counts; with 0 only callers that wait together share one. */
  freshMs?: number;
  now?: number;
}

export class Cache {
  /** Answers in the order of the requests. */
  readonly #answers = new Map<string, Answer>();
  readonly #shelves = new Map<Shelf<unknown>, Kept<unknown>>();

  /**
   * Returns the kept answer for the key `what` if it is fresh enough; else calls `read`. If an earlier call is running,
   * waits for it first, and shares one new call with all callers that also waited. An answer must not be changed,
   * because callers share it. A failed read is not kept.
   */
  read<T>(what: string, read: () => Promise<T>, { freshMs = 0, now = Date.now() }: Freshness = {}): Promise<T> {
    const known = this.#answers.get(what);
    if (known && isFresh(known, { freshMs, now })) return known.current as Promise<T>;
    if (!known || known.isSettled) return this.#begin(what, read, { freshMs, now });
    known.next ??= settledOrLate(known.current).then(() => this.#begin(what, read, { freshMs, now: Date.now() }));
    return known.next as Promise<T>;
  }

  /** Returns the values that this cache keeps for a shelf. */
  shelf<T>(shelf: Shelf<T>): Kept<T> {
    const known = this.#shelves.get(shelf as Shelf<unknown>) ?? new Kept<unknown>(shelf.most);
    this.#shelves.set(shelf as Shelf<unknown>, known);
    return known as Kept<T>;
  }

  #begin<T>(what: string, read: () => Promise<T>, { freshMs, now }: Required<Freshness>): Promise<T> {
    this.#sweep(now);
    const current = read();
    const answer: Answer = { current, begunAt: now, freshMs, isSettled: false };
    this.#answers.delete(what);
    this.#answers.set(what, answer);
    const settle = (isKept: boolean): void => {
      answer.isSettled = true;
      const isLast = this.#answers.get(what) === answer && !answer.next;
      if (isLast && !isKept) this.#answers.delete(what);
    };
    current.then(() => settle(answer.freshMs > 0), () => settle(false));
    return current;
  }

  #sweep(now: number): void {
    for (const [what, answer] of this.#answers) {
      const { freshMs, isSettled } = answer;
      const isOver = isSettled && !isFresh(answer, { freshMs, now });
      if (isOver || this.#answers.size > mostAnswers) this.#answers.delete(what);
    }
  }
}

// An answer from the future is not fresh: the clock was set back, so its age is unknown.
function isFresh({ begunAt }: Answer, { freshMs, now }: Required<Freshness>): boolean {
  return begunAt <= now && now - begunAt < freshMs;
}

/** Identifies one kind of kept values; the object itself is the key, so two shelves never share values. */
export class Shelf<T> {
  declare readonly value: T;

  /** Keeps only the `most` values that were set last. */
  constructor(readonly most: number) {}
}

/** Values by key, limited by the shelf. */
export class Kept<T> {
  readonly #values = new Map<string, T>();

  constructor(readonly most: number) {}

  get(key: string): T | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: T): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= this.most) break;
      this.#values.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}

async function settledOrLate(work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, patienceMs);
  await Promise.race([work, late]).catch(() => undefined);
  clearTimeout(timer);
}
