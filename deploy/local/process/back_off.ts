/** How long to wait before a process is started again, as a kubelet does with a container: ever longer, to a limit. */
export interface BackOffRules {
  readonly firstMs: number;
  readonly longestMs: number;
  /** Who ran so long starts at the first pause again. */
  readonly forgivenAfterMs: number;
  /** So many ends within the time below, and it is not started again. */
  readonly mostEnds: number;
  readonly withinMs: number;
}

/** A kubelet begins at 10 s; nobody watches a cluster of their own for so long. */
export const usualBackOff: BackOffRules = {
  firstMs: 1_000,
  longestMs: 5 * 60_000,
  forgivenAfterMs: 60_000,
  mostEnds: 5,
  withinMs: 60_000,
};

/** Remembers when a process ended, by a clock in milliseconds. */
export class BackOff {
  readonly #rules: BackOffRules;
  #ends: number[] = [];
  #pauseMs = 0;

  constructor(rules: BackOffRules = usualBackOff) {
    this.#rules = rules;
  }

  /** The pause after an end at `now` of a process that had run for `ranMs`; undefined when it keeps ending. */
  pauseAfter(now: number, ranMs: number): number | undefined {
    const { firstMs, longestMs, forgivenAfterMs, mostEnds, withinMs } = this.#rules;
    this.#ends = [...this.#ends.filter((end) => now - end < withinMs), now];
    if (this.#ends.length >= mostEnds) return undefined;
    const isFresh = this.#pauseMs === 0 || ranMs >= forgivenAfterMs;
    this.#pauseMs = isFresh ? firstMs : Math.min(this.#pauseMs * 2, longestMs);
    return this.#pauseMs;
  }
}
