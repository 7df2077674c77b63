/** Virtual time: runs scheduled functions in the order of their times; for equal times, in the order of scheduling. */
export class Clock {
  now: number;
  #acts: { at: number; act: () => void }[] = [];

  constructor(start: number) {
    this.now = start;
  }

  after(ms: number, act: () => void): void {
    this.#acts.push({ at: this.now + ms, act });
  }

  /** Advances to the next scheduled function and runs it; returns false if there is none. */
  tick(): boolean {
    let first = 0;
    for (let at = 1; at < this.#acts.length; at++) {
      if ((this.#acts[at]?.at ?? 0) < (this.#acts[first]?.at ?? 0)) first = at;
    }
    const [next] = this.#acts.splice(first, 1);
    if (!next) return false;
    this.now = Math.max(this.now, next.at);
    next.act();
    return true;
  }
}
