/** How many requests a process may make, so that no storm of its own can take an API server down. */

/** Requests a second that are always allowed, and how many may come at once after a rest. */
export interface Rate {
  qps: number;
  burst: number;
}

/**
 * A bound for a fault of ours, not a pace: what is too much for an API server at the moment it says itself, by its priority
 * and fairness, as it shares itself out. A new pool asks for twenty: 100 a second let 5 of them through.
 */
export const usualRate: Rate = { qps: 1_000, burst: 2_000 };

/** A token bucket. Who comes when it is empty is told how long to wait, in the order of coming. */
export class RequestRate {
  readonly #rate: Rate;
  #tokens: number;
  #at: number | undefined;

  constructor(rate: Rate = usualRate) {
    this.#rate = rate;
    this.#tokens = rate.burst;
  }

  /** Takes a place in the order; milliseconds until it has come. `now` is epoch ms. */
  take(now: number): number {
    const { qps, burst } = this.#rate;
    const passed = Math.max(0, now - (this.#at ?? now));
    this.#at = now;
    this.#tokens = Math.min(burst, this.#tokens + passed * qps / 1000) - 1;
    return this.#tokens >= 0 ? 0 : Math.ceil(-this.#tokens * 1000 / qps);
  }
}
