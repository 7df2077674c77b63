/** The output of adopt and release. */
import { statusOf } from "../../activities/kube/status.ts";
import type { Step } from "../setup/step.ts";
import type { Terminal } from "../terminal.ts";
import { plainTable } from "../view/plain_table.ts";
import { asData, type Format } from "../view/output.ts";
import { printable } from "../view/printable.ts";
import type { ConfigLine, PoolLine } from "./pool_line.ts";

/**
 * Collects the results of the steps; prints each result immediately as text, or all results at the end as JSON or YAML.
 */
export class Telling {
  readonly #steps: Step[] = [];
  #pools: PoolLine[] = [];
  #configs: ConfigLine[] | undefined;

  constructor(private readonly terminal: Terminal, private readonly format: Format) {}

  step(step: Step): void {
    this.#steps.push(step);
    if (this.format === "table") this.terminal.out(`${printable(`${step.about}: ${step.message}`, Infinity)}\n`);
  }

  pools(lines: PoolLine[], isShown: boolean): void {
    this.#pools = lines;
    if (!isShown || this.format !== "table" || lines.length === 0) return;
    const rows = lines.map(({ pool, profile, boots, outcome, note }) => [pool, profile, boots, outcome, note]);
    this.#table(rows, ["POOL", "PROFILE", "BOOTS FROM", "OUTCOME", "NOTE"]);
  }

  configs(lines: ConfigLine[]): void {
    this.#configs = lines;
    if (this.format !== "table" || lines.length === 0) return;
    const rows = lines.map((
      { pool, profile, profileVersion, config, warnings },
    ) => [pool, `${profile} ${profileVersion}`.trim(), config, warnings.join("; ")]);
    this.#table(rows, ["POOL", "PROFILE OF OSTLER", "CONFIG OF OSTLER", "NOTE"]);
  }

  // The cells have texts of other systems, such as versions and faults of profiles.
  #table(rows: string[][], head: string[]): void {
    const safe = rows.map((row) => row.map((cell) => printable(cell, Infinity)));
    this.terminal.out(`${plainTable(safe, head)}\n`);
  }

  /** Prints the progress after every 20 pools and at the end, if standard error is a terminal. */
  progress(verb: string, done: number, all: number): void {
    if (!this.terminal.isErrWatched || (done % 20 !== 0 && done !== all)) return;
    this.terminal.err(`${verb} ${done} of ${all}${done === all ? "\n" : "\r"}`);
  }

  /** Prints all steps if the format is JSON or YAML; returns exit code 1 if a step was refused, else 0. */
  end(): number {
    const data = asData(this.format, {
      pools: this.#pools,
      ...(this.#configs ? { configs: this.#configs } : {}),
      steps: this.#steps,
    });
    if (data !== undefined) this.terminal.out(data);
    return this.#steps.some(({ outcome }) => outcome === "Refused") ? 1 : 0;
  }
}

/** Returns the first few names, quoted, and the number of the rest. */
export function few(names: readonly string[]): string {
  const most = 5;
  const more = names.length - most;
  return `${names.slice(0, most).map((name) => `"${name}"`).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/**
 * Waits for work on one pool or machine, and returns its failure as text; undefined if the work succeeds. Throws errors
 * that are not from the API server or an activity, because they affect all pools.
 */
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
