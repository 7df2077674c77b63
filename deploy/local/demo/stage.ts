/** What the demo stands on: it waits only here, so whatever ends it ends every wait and knows what was waited for. */
export class Stage {
  readonly #ending = new AbortController();
  readonly #waits = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Aborts when the demo is to end before its time. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** What is waited for now, in words. */
  get waitsFor(): string {
    return [...this.#waits].join(" and ") || "nothing";
  }

  /** Ends the demo; the first reason counts. */
  end(reason: Error): void {
    clearTimeout(this.#timer);
    this.#ending.abort(reason);
  }

  /** Ends the demo unless it is over in so many seconds. */
  limit(seconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.end(new Error(`Cannot finish within ${Math.round(seconds)} s: it still waits for ${this.waitsFor}`));
    }, seconds * 1000);
  }

  /** The story is told: no limit any more. */
  unlimit(): void {
    clearTimeout(this.#timer);
  }

  /** Gives what the work gives, also after the end: for work that hears of the end itself, and has to clean up. */
  async during<T>(what: string, work: Promise<T>): Promise<T> {
    this.#waits.add(what);
    try {
      return await work;
    } finally {
      this.#waits.delete(what);
    }
  }

  /** Gives what the work gives; rejects with the reason of the end when that comes first. */
  async until<T>(what: string, work: Promise<T>): Promise<T> {
    const { signal } = this;
    const { promise, reject } = Promise.withResolvers<never>();
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await this.during(what, Promise.race([promise, work]));
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }
}
