// deno-lint-ignore-file no-console -- saying what passed and what failed is this program's job
/** Runs steps and groups of tests by name, side by side as the cores allow, and ends whatever they leave running. */
import { availableParallelism } from "node:os";
import { busyBetween, type CoreTime, coreTime } from "./run/busy_cores.ts";
import { Children } from "./run/children.ts";
import { closingLine, slowestLines, total } from "./run/counts.ts";
import { groups, steps } from "./run/groups.ts";
import { inLanes, portsOf } from "./run/lanes.ts";
import { type Piece, piecesOf } from "./run/pieces.ts";
import { type Ending, runPiece } from "./run/run_piece.ts";

const children = new Children();

// More than run at once on two cores; each has ports for some dozens of stacks.
const lanes = 12;

/** A piece that was begun, and when. */
interface Done {
  piece: Piece;
  ending: Ending;
  from: Moment;
  to: Moment;
}

interface Moment {
  ms: number;
  cores: CoreTime | undefined;
}

const cores = Math.max(2, availableParallelism());

async function now(): Promise<Moment> {
  return { ms: performance.now(), cores: await coreTime() };
}

async function runAll(names: string[], extra: string[]): Promise<number> {
  const pieces = names.flatMap(piecesOf);
  const say = pieces.length > 1 ? (text: string): void => console.log(text) : undefined;
  const done = await inLanes(pieces, { cores, lanes }, async (piece, lane): Promise<Done[]> => {
    if (children.isInterrupted) return [];
    const from = await now();
    const env = { OSTLER_PORTS: portsOf(lane, lanes) };
    const ending = await runPiece(piece, { children, extra, env, ...(say && { say }) });
    return [{ piece, ending, from, to: await now() }];
  });
  await children.close();
  return closeWith(names, done.flat());
}

function closeWith(names: string[], done: Done[]): number {
  const endings = done.map(({ ending }) => ending);
  const counts = total(endings.map((ending) => ending.counts));
  const table = names.flatMap((name) => lineOf(name, done.filter(({ piece }) => piece.name === name)));
  const slowest = slowestLines(endings.flatMap(({ times }) => times));
  // Who sees only the end of a long log still learns what to look for.
  const failures = endings.flatMap((ending) => ending.failures).map((name) => `FAILED ${name}`);
  const parts = [table, ["The slowest:", ...slowest], failures, [closingLine(counts)]];
  console.log(`\n${parts.filter((part) => part.length > 0).map((part) => part.join("\n")).join("\n\n")}`);
  if (children.isInterrupted) return 130;
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
}

/** From the begin of the first piece to the end of the last; other names may have run meanwhile. */
function lineOf(name: string, done: Done[]): string[] {
  const first = done.toSorted((a, b) => a.from.ms - b.from.ms)[0];
  const last = done.toSorted((a, b) => a.to.ms - b.to.ms).at(-1);
  if (first === undefined || last === undefined) return [];
  const seconds = (last.to.ms - first.from.ms) / 1000;
  const notes = new Set(done.map(({ ending }) => ending.note).filter((note) => note !== ""));
  const counted = name in groups ? [closingLine(total(done.map(({ ending }) => ending.counts)))] : [];
  const note = [...counted, ...notes].join("; ") || "ok";
  const busy = busyBetween(first.from.cores, last.to.cores, cores);
  return [`${name.padEnd(12)}${seconds.toFixed(1).padStart(7)} s  ${busy.padEnd(22)}${note}`];
}

async function main(args: string[]): Promise<number> {
  const first = args.findIndex((arg) => arg.startsWith("-"));
  const names = first < 0 ? args : args.slice(0, first);
  const extra = first < 0 ? [] : args.slice(first);
  const known = [...Object.keys(steps), ...Object.keys(groups)];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined || names.length === 0) {
    console.error(`Cannot run "${unknown ?? ""}": the groups are ${known.join(", ")}`);
    return 2;
  }
  return await runAll(names, names.includes("check") ? ["--no-check", ...extra] : extra);
}

function interrupt(): void {
  if (children.isInterrupted) return;
  console.error("interrupted: stopping what was started");
  children.interrupt();
}

if (import.meta.main) {
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, interrupt);
  Deno.exit(await main(Deno.args));
}
