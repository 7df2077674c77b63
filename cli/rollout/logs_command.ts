/** `ostler logs`: the story of a rollout, from its Events and the steps of its run, in the order of time. */
import { eventsAbout } from "../connect/cluster.ts";
import type { Engine } from "../connect/engine.ts";
import type { World } from "../connect/world.ts";
import { TimedOut, Unreachable } from "../failure.ts";
import type { PoolRef } from "../../workflows/contracts.ts";
import { styled, type Terminal } from "../terminal.ts";
import { clockSeconds, duration, parseDuration, type Patience, patienceOf } from "../view/durations.ts";
import { asData, type Format } from "../view/output.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { chosenBy, poolName, readRow } from "./pools.ts";
import { UsageError } from "../usage_error.ts";

export interface LogsFlags extends ClusterFlags {
  output: Format;
  follow?: boolean;
  since?: string;
  timeout?: string;
  /** The newest lines; a text as it is given. */
  tail: string;
  /** With what the run waited for between its steps. */
  waits?: boolean;
}

/** One line of the story. */
export interface Line {
  /** Epoch ms. */
  at: number;
  id: string;
  /** event, step, wait or command. */
  kind: string;
  message: string;
  warning: boolean;
}

const lookMs = 2_000;

/** Shows the newest lines, and with `-f` what comes after; Events alone where Temporal cannot be asked. */
export async function showLogs(terminal: Terminal, world: World, flags: LogsFlags): Promise<number> {
  const patience = patienceOf(flags);
  const tail = wholeNumber(flags.tail);
  const from = flags.since === undefined ? 0 : world.now() - parseDuration(flags.since);
  const cluster = await world.cluster();
  const chosen = chosenBy(flags, cluster, false);
  if (chosen.kind !== "one") throw new UsageError("Cannot tell the story of several pools at once: name one");
  const { pool } = await readRow(cluster, chosen.pool);
  const engine = await world.engine().catch((error: unknown) => withoutEngine(terminal, error));
  const told = new Set<string>();
  const tell = async (): Promise<void> => {
    const lines = (await readStory(world, { pool, engine, tail, waits: flags.waits === true })).filter(({ at, id }) =>
      at >= from && !told.has(id)
    );
    for (const { id } of lines) told.add(id);
    print(terminal, {
      lines: lines.slice(-tail),
      format: flags.output,
      now: world.now(),
      stream: flags.follow === true,
    });
  };
  await tell();
  if (told.size === 0 && flags.follow !== true) {
    terminal.err(`Nothing is known of "${poolName(pool)}": Events are kept for an hour\n`);
  }
  if (flags.follow === true) await follow(world, tell, patience);
  return 0;
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new UsageError(`Cannot use --tail "${text}": it is no number from 1 to 99999`);
}

function withoutEngine(terminal: Terminal, error: unknown): undefined {
  if (!(error instanceof Unreachable)) throw error;
  terminal.err(`${error.message}; only Events are shown\n`);
}

async function follow(world: World, tell: () => Promise<void>, { text, ms }: Patience): Promise<void> {
  const since = world.now();
  for (;;) {
    await world.sleep(lookMs);
    await tell();
    if (ms > 0 && world.now() - since >= ms) throw new TimedOut(`Followed for ${text}, as asked`);
  }
}

interface Telling {
  pool: PoolRef;
  engine: Engine | undefined;
  tail: number;
  waits: boolean;
}

async function readStory(world: World, { pool, engine, tail, waits }: Telling): Promise<Line[]> {
  const { kube } = await world.cluster();
  const [events, steps] = await Promise.all([
    eventsAbout(kube, { kind: "MachineDeployment", ...pool }),
    engine?.steps(pool, tail) ?? [],
  ]);
  const lines: Line[] = events.map(({ at, id, type, reason, message }) => ({
    ...{ at, id, kind: "event", message: `${reason}: ${message}` },
    warning: type === "Warning",
  }));
  for (const { at, id, kind, message, seconds, failure } of steps) {
    if (kind === "wait" && !waits) continue;
    // A step that ends is told again, with how it ended.
    const isLong = seconds !== undefined && seconds >= 1 && kind !== "command";
    const ending = failure === undefined ? isLong ? ` (${duration(seconds)})` : "" : `: failed: ${failure}`;
    lines.push({ at, id, kind, message: `${message}${ending}`, warning: failure !== undefined });
  }
  return lines.sort((a, b) => orderOf(a) - orderOf(b));
}

// Events have whole seconds, and are told after what they tell of.
function orderOf({ at, kind }: Line): number {
  return kind === "event" ? Math.floor(at / 1000) * 1000 + 999 : at;
}

interface Printing {
  lines: readonly Line[];
  format: Format;
  now: number;
  /** Each line by itself, as more will come. */
  stream: boolean;
}

function print(terminal: Terminal, { lines, format, now, stream }: Printing): void {
  const items = lines.map(({ at, kind, message, warning }) => ({
    at: new Date(at).toISOString(),
    kind,
    message,
    warning,
  }));
  if (stream && format === "json") return terminal.out(items.map((item) => `${JSON.stringify(item)}\n`).join(""));
  const data = asData(format, { items });
  if (data !== undefined) return terminal.out(data);
  terminal.out(lines.map((line) => `${lineText(terminal, line, now)}\n`).join(""));
}

function lineText(terminal: Terminal, { at, kind, message, warning }: Line, now: number): string {
  const colour = warning ? "yellow" : kind === "command" ? "cyan" : kind === "event" ? "bold" : "gray";
  return `${clockSeconds(at, now)}  ${kind.padEnd(7)}  ${styled(terminal, colour, message)}`;
}
