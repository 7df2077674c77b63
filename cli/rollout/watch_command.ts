/** `ostler status -w`: reads every second until all selected rollouts have ended. */
import { createLogUpdate } from "log-update";
import { passingFailure } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";
import { Refusal, TimedOut } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { patienceOf } from "../view/durations.ts";
import { type Frame, liveFrame, newsLine } from "../view/live_frame.ts";
import { asStream } from "../view/output.ts";
import { conditionOf, type PoolRow } from "./pool_row.ts";
import { chosenBy, hiddenRefusal, noPools, poolName, readSelected } from "./pools.ts";
import { rowData, type StatusFlags } from "./status_command.ts";
import { UsageError } from "../usage_error.ts";
import { versionNamed, withTargets } from "./node_versions.ts";
import { awaitedVersion, newsKey, verdictOf } from "./verdict.ts";
import type { PoolRef, Progress } from "../../workflows/contracts/mod.ts";
import type { Engine } from "../connect/engine.ts";

const lookMs = 1_000;

/**
 * Returns exit code 0 when all selected pools are ready; throws Refusal when all rollouts have ended and one failed or
 * could not be listed, and TimedOut after --timeout.
 */
export async function watchStatus(terminal: Terminal, world: World, flags: StatusFlags): Promise<number> {
  const version = versionNamed(flags.pool);
  if (version !== undefined) {
    throw new UsageError(
      `Failed to watch NodeVersion "${version}": only rollouts of pools can be watched; ` +
        `run \`kubectl wait --for=condition=Ready nodeversion/${version}\``,
    );
  }
  const patience = patienceOf(flags);
  const cluster = await world.cluster();
  const chosen = chosenBy(flags, cluster, true);
  let hidden: PoolRef[] = [];
  const read = async (): Promise<PoolRow[]> => {
    const selected = await readSelected(cluster, chosen);
    hidden = selected.hidden;
    return await withTargets(cluster, selected.rows);
  };
  const since = world.now();
  const display = displayOn(terminal, flags);
  let rows = await read();
  if (rows.length === 0) {
    throw hiddenRefusal("watch", hidden, chosen) ?? new Refusal(`Failed to watch: ${noPools(chosen)}`);
  }
  const [first] = rows;
  const feed = rows.length === 1 && first ? new ProgressFeed(world, first.pool) : undefined;
  let trouble: string | undefined;
  let began = since;
  for (;;) {
    if (rows.length === 0) throw new Refusal(`Failed to watch any longer: ${noPools(chosen)}`);
    const hasEnded = !rows.some(isOpen);
    began = feed === undefined ? since : beginningOf(rows) ?? began;
    display.show({ rows, progress: hasEnded ? undefined : feed?.look(), now: world.now(), since: began, trouble });
    if (hasEnded) break;
    if (patience.ms > 0 && world.now() - since >= patience.ms) throw timedOut(rows.filter(isOpen), patience.text);
    await world.sleep(lookMs);
    try {
      rows = await read();
      trouble = undefined;
    } catch (error) {
      trouble = passingFailure(cluster.server, error).message;
    }
  }
  const code = judged(rows);
  const refusal = hiddenRefusal("watch", hidden, chosen);
  if (refusal) throw refusal;
  return code;
}

function beginningOf([row]: readonly PoolRow[]): number | undefined {
  const progressing = row?.status && conditionOf(row.status, "Progressing");
  if (progressing?.status !== "True" || progressing.lastTransitionTime === undefined) return undefined;
  return Date.parse(progressing.lastTransitionTime);
}

function judged(rows: readonly PoolRow[]): number {
  const failed = rows.filter((row) => verdictOf(row) === "Failed");
  if (failed.length === 0) return 0;
  throw new Refusal(failed.map(endText).join("\n"));
}

function isOpen(row: PoolRow): boolean {
  return verdictOf(row) === "UnderWay";
}

/** Returns the failure of a rollout in one line. */
export function endText({ pool, status }: PoolRow): string {
  const { phase = "", reason = "", message = "" } = status ?? {};
  return `The rollout of "${poolName(pool)}" failed: ${phase}${reason === "" ? "" : ` (${reason})`}: ${message}`;
}

/** Returns the failure of a wait after its timeout, with the state of open rollouts. */
export function timedOut(open: readonly PoolRow[], timeout: string): TimedOut {
  const told = open.slice(0, 3).map((row) => {
    const { pool, status } = row;
    const version = awaitedVersion(row);
    if (version !== undefined) return `"${poolName(pool)}" waits for NodeVersion "${version}"`;
    const { phase = "without a rollout", updated = "" } = status ?? {};
    return `"${poolName(pool)}" is ${phase}${updated === "" ? "" : ` with ${updated} updated`}`;
  });
  const more = open.length > told.length ? ` and ${open.length - told.length} more` : "";
  return new TimedOut(`Failed to reach the expected state within ${timeout}: ${told.join(", ")}${more}`);
}

interface Display {
  show(frame: Frame): void;
}

function displayOn(terminal: Terminal, { output }: StatusFlags): Display {
  const isLive = terminal.isWatched && terminal.env["TERM"] !== "dumb" && (output === "table" || output === "wide");
  if (!isLive) return new Lines(terminal, output);
  const stream = {
    write: (text: string) => (terminal.out(text), true),
    isTTY: true,
    get columns() {
      return terminal.columns?.() || 80;
    },
    get rows() {
      return terminal.rows?.() || 24;
    },
  };
  // The cursor stays visible, because an interrupted watch could not show a hidden cursor again.
  const update = createLogUpdate(stream as unknown as NodeJS.WriteStream, { showCursor: true });
  return { show: (frame) => update(liveFrame(terminal, frame)) };
}

/** Prints every change as a line: for logs, pipes and programs. */
class Lines implements Display {
  readonly #told = new Map<string, string>();
  #trouble: string | undefined;

  constructor(private readonly terminal: Terminal, private readonly output: StatusFlags["output"]) {}

  show({ rows, now, trouble }: Frame): void {
    if (trouble !== undefined && trouble !== this.#trouble) this.terminal.err(`${trouble}; retrying\n`);
    this.#trouble = trouble;
    for (const row of rows) {
      const [name, key] = [poolName(row.pool), newsKey(row)];
      if (this.#told.get(name) === key) continue;
      this.#told.set(name, key);
      this.terminal.out(this.#text(row, now));
    }
  }

  #text(row: PoolRow, now: number): string {
    return asStream(this.output, [rowData(row)]) ?? newsLine(row, now);
  }
}

/** Milliseconds after which an answer of the run is stale, and the Rollout is more recent. */
const freshMs = 5_000;

/** Queries the run in the background: a watch must neither wait for Temporal nor depend on it. */
class ProgressFeed {
  #engine: Engine | undefined;
  #asking = false;
  #latest: { progress: Progress; at: number } | undefined;

  constructor(private readonly world: World, private readonly pool: PoolRef) {
    world.engine().then((engine) => void (this.#engine = engine), () => {}); // unreachable: no progress is shown
  }

  /** Returns the last answer unless it is stale, and requests the next one. */
  look(): Progress | undefined {
    void this.#ask();
    const { progress, at } = this.#latest ?? {};
    return at !== undefined && this.world.now() - at <= freshMs ? progress : undefined;
  }

  async #ask(): Promise<void> {
    if (this.#engine === undefined || this.#asking) return;
    this.#asking = true;
    const progress = await this.#engine.progress(this.pool).catch(() => undefined); // keeps the last answer
    if (progress !== undefined) this.#latest = { progress, at: this.world.now() };
    this.#asking = false;
  }
}
