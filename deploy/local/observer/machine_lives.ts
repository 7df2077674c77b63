import type { Facts, Kind } from "./pool_facts.ts";

/** What became of one machine, as far as it was seen; times are RFC 3339. */
export interface MachineLife {
  name: string;
  /** First seen as a Machine object, perhaps on paper only. */
  seenAt: string;
  /** Its instance was ordered: from now on it costs. */
  orderedAt?: string;
  /** Its node was Ready for the first time. */
  readyAt?: string;
  /** Its instance was gone again. */
  goneAt?: string;
}

/** Remembers of every machine when it came and went, also of those that were gone long before the end. */
export class MachineLives {
  readonly #lives = new Map<string, MachineLife>();
  readonly #now: () => string;

  constructor(now: () => string) {
    this.#now = now;
  }

  /** All machines ever seen, in the order of their orders; those never ordered come last. */
  list(): MachineLife[] {
    const key = ({ orderedAt, seenAt }: MachineLife): string => `${orderedAt ?? "never"} ${seenAt}`;
    return [...this.#lives.values()].map((life) => ({ ...life })).sort((a, b) => key(a) < key(b) ? -1 : 1);
  }

  /** Takes in how all objects of one kind stand after a change. */
  see(kind: Kind, facts: Facts): void {
    if (kind === "machines") { for (const name of facts.keys()) this.#life(name); }
    if (kind === "instances") this.#seeInstances(facts);
    if (kind === "nodes") this.#seeNodes(facts);
  }

  #seeInstances(facts: Facts): void {
    for (const name of facts.keys()) this.#life(name).orderedAt ??= this.#now();
    for (const life of this.#lives.values()) {
      if (life.orderedAt !== undefined && !facts.has(life.name)) life.goneAt ??= this.#now();
    }
  }

  #seeNodes(facts: Facts): void {
    for (const [name, isReady] of facts) {
      if (isReady) this.#life(name).readyAt ??= this.#now();
    }
  }

  #life(name: string): MachineLife {
    const life = this.#lives.get(name) ?? { name, seenAt: this.#now() };
    this.#lives.set(name, life);
    return life;
  }
}
