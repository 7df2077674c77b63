/** How many sets of labels a metric may have: those of fleets that changed a hundred times would be kept for ever. */

/** For each metric; a thousand pools have one each for the image of today. */
const mostSeries = 1_000;

/** Sets of labels by when each was used last. */
export class BoundedSeries {
  readonly #used = new Map<string, Map<string, Record<string, string>>>();
  readonly #most: number;

  constructor(most = mostSeries) {
    this.#most = most;
  }

  /** Notes a use, and gives the sets that have to go for it. */
  use(metric: string, labels: Record<string, string>): Record<string, string>[] {
    const used = this.#used.get(metric) ?? new Map<string, Record<string, string>>();
    this.#used.set(metric, used);
    const key = JSON.stringify(Object.entries(labels).sort());
    used.delete(key);
    used.set(key, labels);
    const old = [...used.keys()].slice(0, Math.max(0, used.size - this.#most));
    return old.flatMap((each) => {
      const found = used.get(each);
      used.delete(each);
      return found ? [found] : [];
    });
  }
}
