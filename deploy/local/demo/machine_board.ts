import { type MachineFacts, phaseOf, type Sighting } from "./machine_phase.ts";
import type { LiveLine } from "./narrator.ts";

interface Row {
  facts: MachineFacts;
  phase: string;
  /** Start of the phase, in milliseconds of the clock that is passed to `update`. */
  since: number;
}

/** Keeps one line for each machine in the order of appearance, even after the machine is gone. */
export class MachineBoard {
  readonly #rows = new Map<string, Row>();

  /** Updates the lines from a snapshot and from the replacements; returns all lines. */
  update(sightings: readonly Sighting[], replacedBy: ReadonlyMap<string, string>, now: number): LiveLine[] {
    const seen = new Set(sightings.map(({ machine }) => machine.name));
    for (const sighting of sightings) this.#enter(sighting.machine, phaseOf(sighting), now);
    for (const [name, row] of this.#rows) {
      if (seen.has(name)) continue;
      const successor = replacedBy.get(name);
      this.#enter(row.facts, successor === undefined ? "deleted" : `replaced by ${successor}`, now);
    }
    return [...this.#rows.values()].map((row) => lineOf(row, now));
  }

  #enter(facts: MachineFacts, phase: string, now: number): void {
    const row = this.#rows.get(facts.name);
    const since = row?.phase === phase ? row.since : now;
    this.#rows.set(facts.name, { facts, phase, since });
  }
}

function lineOf({ facts, phase, since }: Row, now: number): LiveLine {
  const { name, image, kubelet } = facts;
  const columns = [name.padEnd(26), shortImage(image).padEnd(16), `v${kubelet}`.padEnd(9), phase];
  const seconds = Math.round((now - since) / 1000);
  const isOver = phase === "deleted" || phase.startsWith("replaced by ");
  return { key: name, text: columns.join("  "), ...(isOver ? {} : { aside: `  ${seconds} s` }) };
}

/** Returns the last part of the name of an image. */
export function shortImage(image: string): string {
  return image.slice(image.lastIndexOf("/") + 1);
}
