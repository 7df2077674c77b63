/** Which nodes belong to which pool, kept up machine by machine so that nobody has to go through the fleet. */

interface Place {
  node: string;
  pool: string;
}

export class JoinedNodes {
  #places = new Map<string, Place>();
  #machineOfNode = new Map<string, string>();
  #machinesOfPool = new Map<string, Set<string>>();

  /** Puts a machine in its place, or takes it away; gives the pools that have another node than before. */
  place(machine: string, now: Place | undefined): string[] {
    const before = this.#places.get(machine);
    if (before?.node === now?.node && before?.pool === now?.pool) return [];
    if (before) this.#leave(machine, before);
    if (now) this.#enter(machine, now);
    return [...new Set([before, now].flatMap((place) => place ? [place.pool] : []))];
  }

  poolOf(node: string): string | undefined {
    return this.#places.get(this.#machineOfNode.get(node) ?? "")?.pool;
  }

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
    // A machine that took over the name of the node may be known already.
    if (this.#machineOfNode.get(node) === machine) this.#machineOfNode.delete(node);
    const machines = this.#machinesOfPool.get(pool);
    machines?.delete(machine);
    if (machines?.size === 0) this.#machinesOfPool.delete(pool);
  }
}
