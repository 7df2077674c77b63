import type { Narrator } from "../narrator.ts";

/** The result of one check of a story. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** The observed value. */
  readonly detail: string;
}

/** Collects the checks of a story in the order in which they are made, and prints each of them immediately. */
export class Checklist {
  readonly #checks: Check[] = [];
  readonly #narrator: Pick<Narrator, "say">;

  constructor(narrator: Pick<Narrator, "say">) {
    this.#narrator = narrator;
  }

  get all(): readonly Check[] {
    return this.#checks;
  }

  /** Adds a check and prints it. */
  add(check: Check): void {
    this.#checks.push(check);
    this.#narrator.say(`  ${mark(check)} ${check.name}: ${check.detail}`);
  }

  /** Adds a check that two values are equal as JSON. */
  equal(name: string, { seen, wanted }: { seen: unknown; wanted: unknown }): void {
    const [left, right] = [JSON.stringify(seen), JSON.stringify(wanted)];
    const ok = left === right;
    this.add({ name, ok, detail: ok ? plain(seen) : `${plain(seen)}, not ${plain(wanted)}` });
  }
}

/** Returns the sign of a passed or failed check. */
export function mark({ ok }: Pick<Check, "ok">): string {
  return ok ? "✓" : "✗";
}

function plain(value: unknown): string {
  return typeof value === "string" ? value || "nothing" : JSON.stringify(value) ?? "nothing";
}
