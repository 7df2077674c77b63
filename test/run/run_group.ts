/** Runs the tests of a group and counts them. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { root } from "./children.ts";
import type { Children } from "./children.ts";
import { closingLine, failedTests, judgeTests, total } from "./counts.ts";
import type { Counts } from "./counts.ts";
import type { Group } from "./groups.ts";
import { inLanes, portsOf } from "./lanes.ts";

/** What a step or a group came to. */
export interface Ending {
  counts: Counts;
  /** Which tests failed, by file and name. */
  failures: string[];
  note: string;
}

/** What it takes to run tests. */
export interface Runner {
  children: Children;
  /** Flags of `deno test` that a person added. */
  extra: string[];
  /** Takes what a file said, whole, where several run side by side. */
  say(text: string): void;
}

/** Files of one process, and how it runs. */
interface Batch {
  paths: string[];
  env?: Record<string, string>;
  /** What it says is kept back until it ends. */
  isQuiet?: boolean;
}

/** The test files of a group, those known to take longest first, the others in order. */
export function filesOf({ paths, longest = [] }: Pick<Group, "paths" | "longest">): string[] {
  const files = paths.flatMap(testFiles);
  return [...longest.filter((file) => files.includes(file)), ...files.filter((file) => !longest.includes(file))];
}

/** The test files of a path, which may be one itself, in order. */
function testFiles(path: string): string[] {
  if (!existsSync(resolve(root, path))) return [];
  if (path.endsWith("_test.ts")) return [path];
  const found = readdirSync(resolve(root, path), { recursive: true }).map(String);
  return found.filter((file) => file.endsWith("_test.ts")).sort().map((file) => join(path, file));
}

/** Runs all tests of a group, in one process or each file in its own; after an interruption no other file is begun. */
export async function runGroup(group: Group, runner: Runner): Promise<Ending> {
  const endings = group.lanes === undefined
    ? [await runTests(group, runner, { paths: group.paths })]
    : await runFiles(group, runner, group.lanes);
  const counts = total(endings.map((ending) => ending.counts));
  const notes = new Set(endings.map(({ note }) => note).filter((note) => note !== ""));
  const failures = endings.flatMap((ending) => ending.failures);
  return { counts, failures, note: [closingLine(counts), ...notes].join("; ") };
}

async function runFiles(group: Group, runner: Runner, lanes: number): Promise<Ending[]> {
  const endings = await inLanes(filesOf(group), lanes, async (file, lane) => {
    if (runner.children.isInterrupted) return [];
    const env = { OSTLER_PORTS: portsOf(lane, lanes) };
    return [await runFile(group, runner, { paths: [file], env, isQuiet: lanes > 1 })];
  });
  return endings.flat();
}

async function runFile(group: Group, runner: Runner, batch: Batch): Promise<Ending> {
  const start = performance.now();
  const ending = await runTests(group, runner, batch);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const note = ending.note === "" ? "" : `; ${ending.note}`;
  runner.say(`${batch.paths.join(" ")}: ${closingLine(ending.counts)} in ${seconds} s${note}\n`);
  return ending;
}

async function runTests(
  { allow, isParallel, limitMinutes }: Group,
  { children, extra, say }: Runner,
  { paths, env = {}, isQuiet = false }: Batch,
): Promise<Ending> {
  const folder = mkdtempSync(join(tmpdir(), "ostler-test-"));
  const [report, log] = [join(folder, "junit.xml"), join(folder, "log")];
  try {
    const flags = [...allow, ...(isParallel ? ["--parallel"] : []), `--junit-path=${report}`, ...extra];
    const order = { args: ["test", ...flags, ...paths], limitMinutes, env, ...(isQuiet ? { log } : {}) };
    const { isSuccess, isStopped, note } = await children.run(order);
    if (existsSync(log)) say(readFileSync(log, "utf8").trimEnd());
    // A stopped run reports its pending tests as if they had passed.
    const junit = !isStopped && existsSync(report) ? readFileSync(report, "utf8") : undefined;
    return { counts: judgeTests(isSuccess, junit), failures: failedTests(junit ?? ""), note: note ?? "" };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
