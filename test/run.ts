// deno-lint-ignore-file no-console -- this program prints the results
/** Runs steps and groups of tests by name, concurrently as the cores allow, and ends whatever they leave running. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { recordCampaign } from "../deploy/release/campaign.ts";
import { readSource, type Source } from "../deploy/release/source.ts";
import { busyBetween, coreSecondsBetween, type CoreTime, coreTime } from "./run/busy_cores.ts";
import { Children } from "./run/children.ts";
import { closingLine, slowestLines, total } from "./run/counts.ts";
import { groups, steps } from "./run/groups.ts";
import { keepTimes, mostFirst, readTimes, timesFile } from "./run/kept_times.ts";
import { inLanes, portsOf } from "./run/lanes.ts";
import { filesOf, type Piece, piecesOf } from "./run/pieces.ts";
import { type Ending, runPiece } from "./run/run_piece.ts";
import { affected, changedFiles, readGraph, sinceLines, UnknownRevision } from "./run/since.ts";

const children = new Children();

// Maximum number of concurrent test processes; fewer are enough to keep two cores busy. Each process has its own ports,
// enough for dozens of test clusters.
const lanes = 12;

/** A piece that has run: a step, or some files of a group of tests. */
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

/** The command line. */
interface Asked {
  names: string[];
  /** Flags of `deno test`. */
  extra: string[];
  /** The expected duration, which the end of the run compares with the actual one. */
  budgetMinutes?: number;
  /** Whether to record that the tests passed on this commit, as a release requires (deploy/release/campaign.ts). */
  isRecorded: boolean;
  /** Run only the tests that changes since this Git revision can break. */
  since?: string;
}

const cores = Math.max(2, availableParallelism());

/** In CI everything can be installed, so a skipped test is a failure there. */
const mayNotSkip = Deno.env.get("CI") === "true";

/**
 * Go servers of tests run for minutes: with a fourth of the garbage collections they need a tenth less CPU time, and
 * more memory.
 */
const sparing = { GOGC: "400" };

async function now(): Promise<Moment> {
  return { ms: performance.now(), cores: await coreTime() };
}

async function runAll(asked: Asked): Promise<number> {
  const { extra, since } = asked;
  const source = asked.isRecorded ? await readSource() : undefined;
  const chosen = since === undefined
    ? asked.names.flatMap((name) => piecesOf(name))
    : await piecesSince(since, asked.names);
  const pieces = mostFirst(chosen, readTimes(timesFile()));
  const say = pieces.length > 1 ? (text: string): void => console.log(text) : undefined;
  const from = await now();
  const done = await inLanes(pieces, { cores, lanes }, async (piece, lane): Promise<Done[]> => {
    if (children.isInterrupted) return [];
    const from = await now();
    const env = { OSTLER_PORTS: portsOf(lane, lanes), ...(piece.tests ? sparing : {}) };
    const ending = await runPiece(piece, { children, extra, env, ...(say && { say }) });
    return [{ piece, ending, from, to: await now() }];
  });
  await children.close();
  const code = closeWith(asked, done.flat(), { from, to: await now() });
  return source !== undefined && code === 0 ? await record(source, done.flat()) : code;
}

/**
 * Returns the pieces of the groups that changes since a Git revision can break, of the steps that must run before these
 * groups, and of the checks that always run. Prints what it leaves out.
 */
async function piecesSince(since: string, names: readonly string[]): Promise<Piece[]> {
  const all = names.flatMap((name) => groups[name] ? [[name, filesOf(groups[name])] as const] : []);
  const changed = await changedFiles(since);
  const selection = affected(Object.fromEntries(all), changed, await readGraph(changed));
  console.log(sinceLines(since, changed, selection).join("\n"));
  const selected = selection.groups.filter(({ run }) => run.length > 0);
  const before = new Set(selected.flatMap(({ group }) => groups[group]?.after ?? []));
  // A set also iterates over elements that are added meanwhile.
  for (const name of before) for (const earlier of steps[name]?.after ?? []) before.add(earlier);
  const wanted = names.filter((name) => name in steps && (steps[name]?.isCheck || before.has(name)));
  return [...wanted.flatMap((name) => piecesOf(name)), ...selected.flatMap(({ group, run }) => piecesOf(group, run))];
}

/** Records that the campaign passed, if the commit and its files are the same as at the start. */
async function record(source: Source, done: Done[]): Promise<number> {
  try {
    const { commit, isChanged } = await readSource();
    const counts = total(done.map(({ ending }) => ending.counts));
    await recordCampaign({
      commit: source.commit,
      isChanged: source.isChanged || isChanged || commit !== source.commit,
    }, counts.passed);
    return 0;
  } catch (error) {
    console.error((error as Error).message);
    return 1;
  }
}

function closeWith(
  { names, budgetMinutes, isRecorded, since }: Asked,
  done: Done[],
  whole: { from: Moment; to: Moment },
): number {
  const endings = done.map(({ ending }) => ending);
  const counts = total(endings.map((ending) => ending.counts));
  const table = names.flatMap((name) => lineOf(name, done.filter(({ piece }) => piece.name === name)));
  const slowest = slowestLines(endings.flatMap(({ times }) => times));
  // Shows the failures again, for readers of only the end of a long log.
  const failures = endings.flatMap((ending) => ending.failures).map((name) => `FAILED ${name}`);
  const skips = mayNotSkip || isRecorded
    ? endings.flatMap((ending) => ending.skips).map((name) => `SKIPPED, which counts as failed here: ${name}`)
    : [];
  const parts = [
    [...table, ...wholeLines(done, whole, budgetMinutes)],
    ["The slowest:", ...slowest],
    failures,
    skips,
    [closingLine(counts)],
  ];
  console.log(`\n${parts.filter((part) => part.length > 0).map((part) => part.join("\n")).join("\n\n")}`);
  if (children.isInterrupted) return 130;
  const isAllSteps = done.length > 0 && done.every(({ piece }) => piece.tests === undefined);
  const mayBeEmpty = isAllSteps || since !== undefined;
  if (counts.failed === 0) keepTimes(timesFile(), done.map(timeOf));
  return counts.failed === 0 && (counts.passed > 0 || mayBeEmpty) && skips.length === 0 ? 0 : 1;
}

function timeOf({ piece, from, to }: Done): { what: string; seconds: number } {
  return { what: piece.title, seconds: (to.ms - from.ms) / 1000 };
}

/**
 * Returns the result of a step or group, with the time from the start of its first piece to the end of its last one.
 * Pieces of other names may have run meanwhile.
 */
function lineOf(name: string, done: Done[]): string[] {
  const first = done.toSorted((a, b) => a.from.ms - b.from.ms)[0];
  const last = done.toSorted((a, b) => a.to.ms - b.to.ms).at(-1);
  if (first === undefined || last === undefined) return [];
  const notes = new Set(done.map(({ ending }) => ending.note).filter((note) => note !== ""));
  const counted = name in groups ? [closingLine(total(done.map(({ ending }) => ending.counts)))] : [];
  const note = [...counted, ...notes].join("; ") || "ok";
  const busy = busyBetween(first.from.cores, last.to.cores, cores);
  return [rowOf(name, (last.to.ms - first.from.ms) / 1000, coreSecondsOf(done), `${busy.padEnd(22)}${note}`)];
}

function coreSecondsOf(done: Done[]): number {
  return done.reduce((sum, { ending }) => sum + (ending.coreSeconds ?? 0), 0);
}

function rowOf(name: string, seconds: number, coreSeconds: number, rest: string): string {
  const [minutes, coreMinutes] = [seconds, coreSeconds].map((each) => (each / 60).toFixed(1).padStart(5));
  return `${name.padEnd(12)}${minutes} min ${coreMinutes} core-min  ${rest}`;
}

/**
 * Returns the cost of the whole run, and whether it took too long. Containers are not children of this process, so only
 * the total of all cores includes them.
 */
function wholeLines(done: Done[], { from, to }: { from: Moment; to: Moment }, budgetMinutes?: number): string[] {
  const seconds = (to.ms - from.ms) / 1000;
  const all = coreSecondsBetween(from.cores, to.cores, { seconds, cores });
  const others = all === undefined
    ? ""
    : `, ${(Math.max(0, all - coreSecondsOf(done)) / 60).toFixed(1)} of them by containers and other processes`;
  const row = rowOf(
    "in all",
    seconds,
    all ?? coreSecondsOf(done),
    `${busyBetween(from.cores, to.cores, cores)}${others}`,
  );
  if (budgetMinutes === undefined || seconds <= budgetMinutes * 60) return [row];
  return [row, `OVER BUDGET: the run took ${(seconds / 60).toFixed(1)} min; the limit is ${budgetMinutes} min`];
}

/** Reads names of steps and groups, then the flags of this program, then flags of `deno test`. */
function parse(args: readonly string[]): Asked {
  const first = args.findIndex((arg) => arg.startsWith("-"));
  const names = first < 0 ? [...args] : args.slice(0, first);
  const flags = args.slice(names.length);
  const { values, tokens } = parseArgs({
    args: flags,
    options: { "budget-minutes": { type: "string" }, record: { type: "boolean" }, since: { type: "string" } },
    ...{ strict: false, tokens: true, allowPositionals: true },
  });
  const own = new Set<number>();
  for (const token of tokens) {
    if (token.kind !== "option" || !["budget-minutes", "record", "since"].includes(token.name)) continue;
    own.add(token.index);
    if (token.inlineValue === false && token.value !== undefined) own.add(token.index + 1);
  }
  const { "budget-minutes": budget, record: isRecorded = false, since } = values;
  return {
    ...{ names, extra: flags.filter((_, at) => !own.has(at)), isRecorded: isRecorded === true },
    ...(budget === undefined ? {} : { budgetMinutes: Number(budget) }),
    ...(typeof since === "string" ? { since } : {}),
  };
}

async function main(args: string[]): Promise<number> {
  const asked = parse(args);
  const { names, extra } = asked;
  const known = [...Object.keys(steps), ...Object.keys(groups)];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined || names.length === 0) {
    console.error(`Cannot run "${unknown ?? ""}": the groups are ${known.join(", ")}`);
    return 2;
  }
  try {
    return await runAll({ ...asked, extra: names.includes("check") ? ["--no-check", ...extra] : extra });
  } catch (error) {
    if (!(error instanceof UnknownRevision)) throw error;
    console.error(error.message);
    return 2;
  }
}

function interrupt(): void {
  if (children.isInterrupted) return;
  console.error("interrupted: stopping all children");
  children.interrupt();
}

if (import.meta.main) {
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, interrupt);
  Deno.exit(await main(Deno.args));
}
