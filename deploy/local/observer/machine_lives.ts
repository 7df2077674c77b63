import type { Facts, Kind } from "./pool_facts.ts";

/** The observed history of one machine; times are RFC 3339. */
export interface MachineLife {
  name: string;
  /**
   * When its first object was seen: typically its Machine object, which can exist long before the instance, because
   * Ostler holds new machines back.
   */
  seenAt: string;
  /** When its instance was seen first; from then on, the machine costs money. */
  orderedAt?: string;
  /** When its node was Ready for the first time. */
  readyAt?: string;
  /** When a change first showed that its instance was gone. */
  goneAt?: string;
}

/** Records the history of every machine, including machines that are already gone. */
export class MachineLives {
  readonly #lives = new Map<string, MachineLife>();
  readonly #now: () => string;

  constructor(now: () => string) {
    this.#now = now;
  }

  /**
   * Returns all observed machines in the order in which they got an instance; machines that never got one come last.
   */
  list(): MachineLife[] {
    const key = ({ orderedAt, seenAt }: MachineLife): string => `${orderedAt ?? "never"} ${seenAt}`;
    return [...this.#lives.values()].map((life) => ({ ...life })).sort((a, b) => key(a) < key(b) ? -1 : 1);
  }

  /** Records the state of all objects of one kind after a change. */
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
