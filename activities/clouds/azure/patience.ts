/** Waits with a deadline for changes that Azure has not completed yet. */
import { setTimeout } from "node:timers/promises";
import { unavailable } from "../../failures.ts";

/** Milliseconds until the deadline, until the first retry, and between retries at most. */
const [patienceMs, firstMs, mostMs] = [10_000, 500, 4_000];

export class Patience {
  readonly #until = Date.now() + patienceMs;
  #next = firstMs;

  constructor(private readonly signal: AbortSignal | undefined) {}

  /** Throws `line` as Transient if the deadline is before the next retry. */
  check(line: string): void {
    if (Date.now() + this.#next > this.#until) throw unavailable(line);
  }

  /** Checks the deadline and sleeps until the next retry; the interval doubles, as subscriptions have few reads. */
  async rest(line: string): Promise<void> {
    this.check(line);
    const { signal } = this;
    const ms = this.#next;
    this.#next = Math.min(2 * ms, mostMs);
    await setTimeout(ms, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
  }
}
