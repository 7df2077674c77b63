/** Waits that end: in looks at what Azure has not done yet. */
import { setTimeout } from "node:timers/promises";
import { unavailable } from "../../failures.ts";

/** Milliseconds for which something is waited for, and between looks. */
const [patienceMs, lookMs] = [10_000, 500];

export class Patience {
  readonly #until = Date.now() + patienceMs;

  constructor(private readonly signal: AbortSignal | undefined) {}

  /** Throws what was waited for where that took too long. */
  check(line: string): void {
    if (Date.now() + lookMs > this.#until) throw unavailable(line);
  }

  /** The same, and rests until the next look. */
  async rest(line: string): Promise<void> {
    this.check(line);
    const { signal } = this;
    await setTimeout(lookMs, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
  }
}
