/**
 * What one writer was told is kept, and what is therefore read from then on. Values grow, and go into slots in turn: a write
 * that is lost shows until its slot is written again, in memory of a fixed size.
 */
interface Slot {
  acknowledged: number;
  attempted: number;
}

const slots = 64;
/** Enough to see what happened. */
const mostBroken = 20;

export class WriteLedger {
  acknowledged = 0;
  readonly broken: string[] = [];
  readonly #slots = new Map<string, Slot>();
  #last = 0;

  /** The next write, from now on in doubt. */
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

  /** What a read that begins now has to show, at least. */
  expected(): ReadonlyMap<string, Slot> {
    return new Map(this.#slots);
  }

  /** One in doubt may have come through or not: what is read lies between what was acknowledged and what was attempted. */
  compare(expected: ReadonlyMap<string, Slot>, data: Readonly<Record<string, string>>): void {
    for (const [slot, { acknowledged, attempted }] of expected) {
      const found = Number(data[slot] ?? 0);
      if (found >= acknowledged && found <= attempted) continue;
      const line = `"${slot}" has ${found}, and ${acknowledged} was acknowledged, ${attempted} attempted`;
      if (this.broken.length < mostBroken) this.broken.push(line);
    }
  }
}
