/** Measures the duration of each part of a story, in seconds with one decimal. */
export class Stopwatch {
  #since = performance.now();

  /** Returns the seconds since the start or the last lap. */
  lap(): number {
    const now = performance.now();
    const seconds = Math.round((now - this.#since) / 100) / 10;
    this.#since = now;
    return seconds;
  }
}
