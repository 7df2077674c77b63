/**
 * The acknowledgements of one writer, and the values that later reads must return. Values grow, and go into slots in
 * rotation: a lost write is visible until the next write to its slot, in bounded memory.
 */
interface Slot {
  acknowledged: number;
  attempted: number;
}

const slots = 64;
/** Maximum number of recorded failures, which suffices to find the cause. */
const mostBroken = 20;

export class WriteLedger {
  acknowledged = 0;
  readonly broken: string[] = [];
  readonly #slots = new Map<string, Slot>();
  #last = 0;

  /** Returns the next write, which is unconfirmed from now on. */
  next(): { slot: string; value: number } {
    const value = ++this.#last;
    const slot = `slot-${value % slots}`;
    this.#slots.set(slot, { acknowledged: this.#slots.get(slot)?.acknowledged ?? 0, attempted: value });
    return { slot, value };
  }

  acknowledge(slot: string, value: number): void {
    this.acknowledged++;
    this.#slots.set(slot, { acknowledged: value, attempted: value });
  }

  /** Returns the minimum that a read beginning now has to show. */
  expected(): ReadonlyMap<string, Slot> {
    return new Map(this.#slots);
  }

  /**
   * An unconfirmed write may be applied or not: a read returns something between what was acknowledged and what was
   * attempted.
   */
  compare(expected: ReadonlyMap<string, Slot>, data: Readonly<Record<string, string>>): void {
    for (const [slot, { acknowledged, attempted }] of expected) {
      const found = Number(data[slot] ?? 0);
      if (found >= acknowledged && found <= attempted) continue;
      const line = `"${slot}" has ${found}, and ${acknowledged} was acknowledged, ${attempted} attempted`;
      if (this.broken.length < mostBroken) this.broken.push(line);
    }
  }
}
