/** Waits with a deadline for changes that Azure has not completed yet. */
import { setTimeout } from "node:timers/promises";
import { unavailable } from "../../failures.ts";
import { isConflict, type Place } from "./api.ts";

/** Default of `patienceMs`, the milliseconds until the deadline. */
const defaultMs = 10_000;

export class Patience {
  readonly #until: number;
  readonly #most: number;
  #next: number;

  /** Sets the intervals between retries: a twentieth of `patienceMs` at first, two fifths of `patienceMs` at most. */
  constructor(private readonly of: Pick<Place, "signal" | "patienceMs">) {
    const { patienceMs = defaultMs } = of;
    this.#until = Date.now() + patienceMs;
    [this.#next, this.#most] = [patienceMs / 20, patienceMs * 2 / 5];
  }

  /** Throws Transient with the message `line` if the deadline is before the next retry. */
  check(line: string): void {
    if (this.#isOver()) throw unavailable(line);
  }

  /** Checks the deadline and sleeps until the next retry. */
  async rest(line: string): Promise<void> {
    this.check(line);
    await this.#sleep();
  }

  /**
   * Repeats work while it conflicts with another change of the set: Azure completes each change later, and accepts no
   * other until then. Throws the conflict after the deadline, or immediately if Azure asked for a pause.
   */
  async through<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isConflict(error) || error.nextRetryDelay || this.#isOver()) throw error;
        await this.#sleep();
      }
    }
  }

  #isOver(): boolean {
    return Date.now() + this.#next > this.#until;
  }

  /** Doubles the interval each time, because Azure limits the reads of a subscription. */
  async #sleep(): Promise<void> {
    const { signal } = this.of;
    const ms = this.#next;
    this.#next = Math.min(2 * ms, this.#most);
    await setTimeout(ms, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted());
  }
}
