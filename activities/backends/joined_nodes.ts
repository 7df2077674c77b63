/** Records which nodes belong to which pool, machine by machine, so that no change needs a pass over all machines. */

interface Place {
  node: string;
  pool: string;
}

/** The nodes of pools, each recorded under its machine. */
export class JoinedNodes {
  #places = new Map<string, Place>();
  #machineOfNode = new Map<string, string>();
  #machinesOfPool = new Map<string, Set<string>>();

  /** Records or removes the node and pool of a machine; returns the pools whose nodes changed. */
  place(machine: string, now: Place | undefined): string[] {
    const before = this.#places.get(machine);
    if (before?.node === now?.node && before?.pool === now?.pool) return [];
    if (before) this.#leave(machine, before);
    if (now) this.#enter(machine, now);
    return [...new Set([before, now].flatMap((place) => place ? [place.pool] : []))];
  }

  /** Returns the pool of a node; undefined for a node without a recorded machine. */
  poolOf(node: string): string | undefined {
    return this.#places.get(this.#machineOfNode.get(node) ?? "")?.pool;
  }

  /** Returns the nodes of a pool. */
  nodesOf(pool: string): string[] {
    return [...this.#machinesOfPool.get(pool) ?? []].flatMap((machine) => this.#places.get(machine)?.node ?? []);
  }

  #enter(machine: string, place: Place): void {
    const { node, pool } = place;
    this.#places.set(machine, place);
    this.#machineOfNode.set(node, machine);
    this.#machinesOfPool.set(pool, (this.#machinesOfPool.get(pool) ?? new Set()).add(machine));
  }

  #leave(machine: string, { node, pool }: Place): void {
    this.#places.delete(machine);
    // A newer machine may already have a node of this name.
    if (this.#machineOfNode.get(node) === machine) this.#machineOfNode.delete(node);
    const machines = this.#machinesOfPool.get(pool);
    machines?.delete(machine);
    if (machines?.size === 0) this.#machinesOfPool.delete(pool);
  }
}
