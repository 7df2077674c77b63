/** Waits that end: in looks at what Azure has not done yet. */
import { setTimeout } from "node:timers/promises";
import { unavailable } from "../../failures.ts";

/** Milliseconds for which something is waited for, until the first look again, and between looks at the most. */
const [patienceMs, firstMs, mostMs] = [10_000, 500, 4_000];

export class Patience {
  readonly #until = Date.now() + patienceMs;
  #next = firstMs;

  constructor(private readonly signal: AbortSignal | undefined) {}

  /** Throws what was waited for where that took too long. */
  check(line: string): void {
    if (Date.now() + this.#next > this.#until) throw unavailable(line);
  }

  /** The same, and rests until the next look: ever longer, as looks are few that a subscription has. */
  async rest(line: string): Promise<void> {
    this.check(line);
    const { signal } = this;
    const ms = this.#next;
    this.#next = Math.min(2 * ms, mostMs);
    await setTimeout(ms, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
  }
}
