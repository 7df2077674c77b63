/** Measures one part of the story after the other, in seconds with one decimal. */
export class Stopwatch {
  #since = performance.now();

  /** Seconds since the start or the last lap. */
  lap(): number {
    const now = performance.now();
    const seconds = Math.round((now - this.#since) / 100) / 10;
    this.#since = now;
    return seconds;
  }
}
