/** `ostler logs`: prints the Events of a rollout and the steps of its run, in order of time. */
import { passingFailure } from "../connect/cluster.ts";
import type { World } from "../connect/world.ts";
import { TimedOut, Unreachable } from "../failure.ts";
import { styled, type Terminal } from "../terminal.ts";
import { clockSeconds, parseDuration, type Patience, patienceOf } from "../view/durations.ts";
import { asData, asStream, type Format } from "../view/output.ts";
import { printable } from "../view/printable.ts";
import { checkHome } from "./check_home.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { chosenBy, poolName, readRow } from "./pools.ts";
import { type Line, Story } from "./story.ts";
import { UsageError } from "../usage_error.ts";

export interface LogsFlags extends ClusterFlags {
  output: Format;
  follow?: boolean;
  since?: string;
  timeout?: string;
  /** The number of newest lines, as given. */
  tail: string;
  /** Whether to include waits of the run between its steps. */
  waits?: boolean;
}

const lookMs = 2_000;

/** Prints the newest lines, and with `-f` later ones; only Events if Temporal cannot be reached. */
export async function showLogs(terminal: Terminal, world: World, flags: LogsFlags): Promise<number> {
  const patience = patienceOf(flags);
  const tail = wholeNumber(flags.tail);
  const from = flags.since === undefined ? 0 : world.now() - parseDuration(flags.since);
  const cluster = await world.cluster();
  const chosen = chosenBy(flags, cluster, false);
  if (chosen.kind !== "one") throw new UsageError("Failed to show the logs of several pools: name exactly one pool");
  const row = await readRow(cluster, chosen.pool);
  const { pool } = row;
  const engine = await world.engine().catch((error: unknown) => withoutEngine(terminal, error));
  if (engine) checkHome("show the steps of", [row], await engine.home());
  const story = new Story(world, { pool, engine, tail, from, waits: flags.waits === true });
  const tell = async (): Promise<number> => {
    const lines = await story.look();
    print(terminal, { lines, format: flags.output, now: world.now(), stream: flags.follow === true });
    return lines.length;
  };
  if (await tell() === 0 && flags.follow !== true) {
    terminal.err(
      `No Events and no steps of "${poolName(pool)}" are left: by default Kubernetes keeps Events for an hour\n`,
    );
  }
  if (flags.follow === true) await follow(terminal, world, { tell, patience });
  return 0;
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new UsageError(`Failed to use --tail "${text}": expected a number from 1 to 99999`);
}

function withoutEngine(terminal: Terminal, error: unknown): undefined {
  if (!(error instanceof Unreachable)) throw error;
  terminal.err(`${error.message}; only Events are shown\n`);
}

interface Following {
  tell: () => Promise<unknown>;
  patience: Patience;
}

async function follow(terminal: Terminal, world: World, { tell, patience: { text, ms } }: Following): Promise<void> {
  const since = world.now();
  const { server } = await world.cluster();
  let isAway = false;
  for (;;) {
    await world.sleep(lookMs);
    try {
      await tell();
      isAway = false;
    } catch (error) {
      const { message } = passingFailure(server, error);
      // An outage is reported once; when it ends, the lines that occurred during it are printed.
      if (!isAway) terminal.err(`${message}; retrying\n`);
      isAway = true;
    }
    if (ms > 0 && world.now() - since >= ms) {
      throw new TimedOut(`Stopped following the logs: --timeout ${text} has passed`);
    }
  }
}

interface Printing {
  lines: readonly Line[];
  format: Format;
  now: number;
  /** Whether each line is printed as a JSON line or YAML document of its own, because more lines will follow. */
  stream: boolean;
}

function print(terminal: Terminal, { lines, format, now, stream }: Printing): void {
  const items = lines.map(({ at, kind, message, warning }) => ({
    at: new Date(at).toISOString(),
    kind,
    message,
    warning,
  }));
  const data = stream ? asStream(format, items) : asData(format, { items });
  if (data !== undefined) return terminal.out(data);
  terminal.out(lines.map((line) => `${lineText(terminal, line, now)}\n`).join(""));
}

// Events, and the failures of steps, have texts of other systems, which could forge lines or control the terminal.
function lineText(terminal: Terminal, { at, kind, message, warning }: Line, now: number): string {
  const colour = warning ? "yellow" : kind === "command" ? "cyan" : kind === "event" ? "bold" : "gray";
  return `${clockSeconds(at, now)}  ${kind.padEnd(7)}  ${styled(terminal, colour, printable(message, Infinity))}`;
}
