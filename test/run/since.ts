/** Which test files a change can break, by imports: what `deno task test --since REV` runs and what it leaves out. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "./children.ts";
import { type ImportGraph, importGraph, isModule, type Uses } from "./import_graph.ts";

/** The selected test files of one group. */
export interface Selected {
  group: string;
  /** How many files the group has. */
  total: number;
  run: string[];
  /** Files that do not import the change, but start processes that import it; they are not run. */
  leftOut: string[];
}

/** Thrown when git knows no commit by the given name. */
export class UnknownRevision extends Error {}

/** The test files that are selected for a change. */
export interface Selection {
  groups: Selected[];
  /** The changed file because of which every test is selected, if there is one. */
  everythingFor?: string;
}

/**
 * Groups whose tests start all processes of Ostler: nearly every change affects these, so only imports select the files
 * of these groups.
 */
const startOstler = ["integration", "chaos", "machines", "campaign"];

/** Tests that read the modules of all folders, although no path in their text shows this. */
const readAllModules = ["test/unit/import_cycles_test.ts", "test/unit/activities/backends/seam_test.ts"];

/**
 * Returns the files that differ from a revision: committed, staged, unstaged and untracked; a moved file counts twice.
 */
export async function changedFiles(revision: string, folder = root): Promise<string[]> {
  const commit = await git(folder, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`])
    .catch((error: Error & { code?: unknown }) => {
      const cause = error.code === 1 ? "git does not know it; name a commit, branch or tag" : error.message.trim();
      throw new UnknownRevision(`Cannot find revision "${revision}": ${cause}`, { cause: error });
    });
  const tracked = await paths(folder, ["diff", "--name-only", "--no-renames", "-z", commit.trim(), "--"]);
  return [...new Set([...tracked, ...await paths(folder, ["ls-files", "--others", "--exclude-standard", "-z"])])]
    .sort();
}

/**
 * Returns the import graph of this checkout; deleted files stay in the graph, because other modules may still name
 * them.
 */
export async function readGraph(changed: readonly string[]): Promise<ImportGraph> {
  const listed = await paths(root, ["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
  const files = [...new Set([...listed, ...changed])];
  const modules = files.filter((file) => isModule(file) && existsSync(join(root, file)));
  const texts = await Promise.all(modules.map(async (file) => [file, await read(file)] as const));
  const { tasks } = JSON.parse(await read("deno.json")) as { tasks: Record<string, { command: string }> };
  const commands = Object.entries(tasks).map(([name, { command }]) => [name, command]);
  return importGraph(new Map(texts), { files, tasks: Object.fromEntries(commands) });
}

/** Selects from the files of each group those that use a changed file. */
export function affected(
  groups: Readonly<Record<string, readonly string[]>>,
  changed: readonly string[],
  graph: ImportGraph,
): Selection {
  const everythingFor = changed.find((file) => canBreakAll(file, graph));
  const imported = usersOf(changed, graph, ["imports"]);
  const used = usersOf(changed, graph, ["imports", "starts"]);
  if (changed.some(isModule)) { for (const test of readAllModules) used.add(test); }
  const selected = Object.entries(groups).map(([group, files]) => {
    const reached = files.filter((file) => everythingFor !== undefined || used.has(file));
    const isLeftOut = (file: string): boolean =>
      everythingFor === undefined && startOstler.includes(group) && !imported.has(file);
    const run = reached.filter((file) => !isLeftOut(file));
    return { group, total: files.length, run, leftOut: reached.filter(isLeftOut) };
  });
  return { groups: selected, ...(everythingFor === undefined ? {} : { everythingFor }) };
}

/** Returns what a person reads before the run. */
export function sinceLines(revision: string, changed: readonly string[], selection: Selection): string[] {
  const { groups, everythingFor } = selection;
  const row = ({ group, total }: Selected, files: string[]): string =>
    `  ${group.padEnd(12)}${String(files.length).padStart(4)} of ${total} files`;
  const run = groups.filter((each) => each.run.length > 0).map((each) => row(each, each.run));
  const leftOut = groups.filter((each) => each.leftOut.length > 0).map((each) => {
    return `${row(each, each.leftOut)}: ${each.leftOut.map(shortName).sort().join(", ")}`;
  });
  const amount = `${changed.length} ${changed.length === 1 ? "file" : "files"} changed since ${revision}.`;
  const title = everythingFor !== undefined
    ? `All tests run, as "${everythingFor}" can break any of them:`
    : run.length > 0
    ? "Test files that use the change:"
    : "No test file to run uses the change.";
  const left =
    "Left out, as only processes that these tests start use the change; run `deno task test` before landing:";
  return [`${amount} ${title}`, ...run, ...(leftOut.length > 0 ? [left, ...leftOut] : [])];
}

/** The path without the folder of the group and the ending of all tests. */
function shortName(file: string): string {
  return file.replace(/^test\/[^/]+\//, "").replace(/_test\.ts$/, "");
}

/**
 * Returns whether a change of the file can break every test: because the file configures all tests, or because no
 * module names it.
 */
function canBreakAll(file: string, graph: ImportGraph): boolean {
  if (/^(deno\.json|deno\.lock|package\.json|test\/run\.ts|test\/run\/.*)$/.test(file)) return true;
  // Only people read Markdown that no module names.
  if (isModule(file) || file.endsWith(".md")) return false;
  return ![...graph.values()].some(({ imports, reads }) => imports.includes(file) || reads.includes(file));
}

/**
 * Returns the changed files, the modules that read them, and all modules that use one of these, directly or through
 * others.
 */
function usersOf(changed: readonly string[], graph: ImportGraph, kinds: readonly (keyof Uses)[]): Set<string> {
  const readers = byUsed(graph, ["reads"]);
  const users = byUsed(graph, kinds);
  const found = new Set([...changed, ...changed.flatMap((file) => readers.get(file) ?? [])]);
  // A set also iterates over elements that are added meanwhile.
  for (const file of found) for (const user of users.get(file) ?? []) found.add(user);
  return found;
}

/** Returns by file the modules that use it. */
function byUsed(graph: ImportGraph, kinds: readonly (keyof Uses)[]): Map<string, string[]> {
  const pairs = [...graph].flatMap(([path, uses]) =>
    kinds.flatMap((kind) => uses[kind].map((file) => ({ file, path })))
  );
  const grouped = Map.groupBy(pairs, ({ file }) => file);
  return new Map([...grouped].map(([file, users]) => [file, users.map(({ path }) => path)]));
}

async function paths(folder: string, args: string[]): Promise<string[]> {
  return (await git(folder, args)).split("\0").filter((path) => path !== "");
}

async function git(folder: string, args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("git", args, { cwd: folder, maxBuffer: 64 << 20 });
  return stdout;
}

async function read(file: string): Promise<string> {
  return await readFile(join(root, file), "utf8");
}
