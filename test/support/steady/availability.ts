/**
 * For how long the attempts of a client failed: each outage lasts from the start of the first failed attempt to the end
 * of the next successful one.
 */
export interface Outages {
  successes: number;
  failures: number;
  /** Total duration of all outages. */
  totalMs: number;
  longestMs: number;
  /** The longest ones, with the reason of the first failure of each. */
  outages: readonly Outage[];
}

export interface Outage {
  at: string;
  ms: number;
  why: string;
}

const keptOutages = 20;

export class Availability {
  #successes = 0;
  #failures = 0;
  #totalMs = 0;
  #current: { at: string; from: number; why: string } | undefined;
  #outages: Outage[] = [];

  /** Runs one attempt; a failure is recorded, not thrown. */
  async attempt(what: () => Promise<void>): Promise<void> {
    const from = performance.now();
    const at = new Date().toISOString();
    try {
      await what();
      this.#successes++;
      this.#end();
    } catch (error) {
      this.#failures++;
      this.#current ??= { at, from, why: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Returns the outages until now; one that has not ended counts until now. */
  report(): Outages {
    const current = this.#current && outageOf(this.#current);
    const outages = longest(current ? [...this.#outages, current] : this.#outages);
    return {
      ...{ successes: this.#successes, failures: this.#failures, totalMs: this.#totalMs + (current?.ms ?? 0) },
      ...{ longestMs: outages[0]?.ms ?? 0, outages },
    };
  }

  #end(): void {
    if (this.#current === undefined) return;
    const outage = outageOf(this.#current);
    this.#current = undefined;
    this.#totalMs += outage.ms;
    this.#outages = longest([...this.#outages, outage]);
  }
}

function outageOf({ at, from, why }: { at: string; from: number; why: string }): Outage {
  return { at, ms: Math.round(performance.now() - from), why };
}

function longest(outages: readonly Outage[]): Outage[] {
  return outages.toSorted((one, other) => other.ms - one.ms).slice(0, keptOutages);
}
