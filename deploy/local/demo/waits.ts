/** Runs all waits of the demo, so that the end of the demo ends every wait, and a timeout names the pending waits. */
export class Waits {
  readonly #ending = new AbortController();
  readonly #pending = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Aborts when the demo must end early. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** The names of the pending waits, joined by "and"; "nothing" if no wait is pending. */
  get pending(): string {
    return [...this.#pending].join(" and ") || "nothing";
  }

  /** Ends the demo; only the first reason is kept. */
  end(reason: Error): void {
    clearTimeout(this.#timer);
    this.#ending.abort(reason);
  }

  /** Ends the demo with an error after so many seconds, unless `unlimit` is called before. */
  limit(seconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.end(new Error(`Failed to finish within ${Math.round(seconds)} s: still waiting for ${this.pending}`));
    }, seconds * 1000);
  }

  /** Removes the limit, after the story has finished. */
  unlimit(): void {
    clearTimeout(this.#timer);
  }

  /**
   * Waits for the work and settles like it, even if the demo ends before. Use this method for work that observes the
   * signal itself, and still has to clean up when the demo ends.
   */
  async during<T>(what: string, work: Promise<T>): Promise<T> {
    this.#pending.add(what);
    try {
      return await work;
    } finally {
      this.#pending.delete(what);
    }
  }

  /** Waits for the work and settles like it; if the demo ends first, rejects with the reason of its end. */
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
