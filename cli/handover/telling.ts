/** How both commands tell what they found and did. */
import { statusOf } from "../../activities/kube/status.ts";
import type { Step } from "../setup/step.ts";
import type { Terminal } from "../terminal.ts";
import { plainTable } from "../view/plain_table.ts";
import { asData, type Format } from "../view/output.ts";
import type { PoolLine } from "./pool_line.ts";

/** Collects what is told, and shows it as it comes or, for programs, at once. */
export class Telling {
  readonly #steps: Step[] = [];
  #pools: PoolLine[] = [];

  constructor(private readonly terminal: Terminal, private readonly format: Format) {}

  step(step: Step): void {
    this.#steps.push(step);
    if (this.format === "table") this.terminal.out(`${step.about}: ${step.message}\n`);
  }

  pools(lines: PoolLine[], isShown: boolean): void {
    this.#pools = lines;
    if (!isShown || this.format !== "table" || lines.length === 0) return;
    const rows = lines.map(({ pool, profile, boots, outcome, note }) => [pool, profile, boots, outcome, note]);
    this.terminal.out(`${plainTable(rows, ["POOL", "PROFILE", "BOOTS FROM", "OUTCOME", "NOTE"])}\n`);
  }

  /** How far it is, where somebody looks. */
  progress(verb: string, done: number, all: number): void {
    if (!this.terminal.isErrWatched || (done % 20 !== 0 && done !== all)) return;
    this.terminal.err(`${verb} ${done} of ${all}${done === all ? "\n" : "\r"}`);
  }

  /** The exit code, and all of it for programs. */
  end(): number {
    const data = asData(this.format, { pools: this.#pools, steps: this.#steps });
    if (data !== undefined) this.terminal.out(data);
    return this.#steps.some(({ outcome }) => outcome === "Refused") ? 1 : 0;
  }
}

/** Names, the first few of them. */
export function few(names: readonly string[]): string {
  const most = 5;
  const more = names.length - most;
  return `${names.slice(0, most).map((name) => `"${name}"`).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** What kept one pool from being done, in words; trouble of the whole cluster is thrown. */
export async function failureOf(work: Promise<void>): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    const isSorted = (error as Error).name === "ApplicationFailure";
    if (!isSorted && statusOf(error) === undefined) throw error;
    return (error as Error).message;
  }
}
