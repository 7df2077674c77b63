import type { Narrator } from "../narrator.ts";

/** One thing that a story promised. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What was seen. */
  readonly detail: string;
}

/** Collects what was checked, in the order in which it was, and tells each at once. */
export class Checklist {
  readonly #checks: Check[] = [];
  readonly #narrator: Pick<Narrator, "say">;

  constructor(narrator: Pick<Narrator, "say">) {
    this.#narrator = narrator;
  }

  get all(): readonly Check[] {
    return this.#checks;
  }

  /** Notes whether a promise was kept. */
  add(check: Check): void {
    this.#checks.push(check);
    this.#narrator.say(`  ${mark(check)} ${check.name}: ${check.detail}`);
  }

  /** Notes whether two values are the same, shown as text. */
  equal(name: string, { seen, wanted }: { seen: unknown; wanted: unknown }): void {
    const [left, right] = [JSON.stringify(seen), JSON.stringify(wanted)];
    const ok = left === right;
    this.add({ name, ok, detail: ok ? plain(seen) : `${plain(seen)}, not ${plain(wanted)}` });
  }
}

/** The sign of a promise that was kept or broken. */
export function mark({ ok }: Pick<Check, "ok">): string {
  return ok ? "✓" : "✗";
}

function plain(value: unknown): string {
  return typeof value === "string" ? value || "nothing" : JSON.stringify(value) ?? "nothing";
}
