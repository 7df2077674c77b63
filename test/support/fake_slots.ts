/** The budget that all pools of a stage (a Temporal server of tests) share. */
import type { BudgetName, PoolRef } from "../../workflows/contracts/mod.ts";

interface Place {
  pool: PoolRef;
  machine: string;
}

/** Slots by machine; names of machines are unique over all pools of a stage. */
export class FakeSlots {
  readonly #places = new Map<string, Place>();
  /** Maximum number of slots that were taken at the same time. */
  most = 0;

  /** The names of the budgets from which slots were requested since the last reset. */
  budgets: BudgetName[] = [];

  /** The machines that were out of service already when a slot was requested for them. */
  begun: string[] = [];

  take(
    { pool, machine, limit, of = "Pools", begun = false }: Place & { limit: number; of?: BudgetName; begun?: boolean },
  ): { taken: boolean; holders: string[] } {
    if (begun) this.begun.push(machine);
    if (!this.budgets.includes(of)) this.budgets.push(of);
    const holders = [...this.#places.values()].map((place) =>
      `${place.pool.namespace}/${place.pool.name}/${place.machine}`
    );
    const taken = this.#places.has(machine) || this.#places.size < limit;
    if (taken) this.#places.set(machine, { pool, machine });
    this.most = Math.max(this.most, this.#places.size);
    return { taken, holders };
  }

  keep({ pool, machines }: { pool: PoolRef; machines: string[] }): void {
    for (const [machine, place] of [...this.#places]) {
      if (place.pool.name === pool.name && !machines.includes(machine)) this.#places.delete(machine);
    }
  }

  heldBy(pool: PoolRef): string[] {
    return [...this.#places.values()].filter((place) => place.pool.name === pool.name).map(({ machine }) => machine);
  }
}
