/** Divides steps and groups into the work of single processes. */
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { root } from "./children.ts";
import type { Group, Step } from "./groups.ts";
import { groups, steps } from "./groups.ts";
import type { Job } from "./lanes.ts";

/** The work of one process. */
export interface Piece extends Job {
  /** Title for people: the group, and which part of it. */
  readonly title: string;
  readonly limitMinutes: number;
  /** Whether the piece starts no server, so that it finds failures soon. */
  readonly isQuick: boolean;
  /** Whether the piece runs files of a shared process, or one of the slowest files. */
  readonly isLong: boolean;
  /** Either the arguments of a deno, or test files and their permissions. */
  readonly args?: readonly string[];
  readonly tests?: Tests;
}

export interface Tests {
  readonly files: readonly string[];
  readonly allow: readonly string[];
  /** Whether the files are loaded into one process together. */
  readonly isShared: boolean;
}

/**
 * Returns the pieces of a step or a group, the slowest first; none if the name is unknown or has no files. `files` are
 * the files of the group to run; by default all.
 */
export function piecesOf(name: string, files?: readonly string[]): Piece[] {
  const [step, all] = [steps[name], groups[name]];
  const group = all && files ? { ...all, paths: [...files] } : all;
  if (step !== undefined) return [{ ...jobOf(name, step), title: name, isQuick: true, isLong: false, args: step.args }];
  return group === undefined ? [] : piecesOfGroup(name, group);
}

/** Returns the pieces of a group: first those whose files share a process, then one for each other file. */
export function piecesOfGroup(name: string, group: Group): Piece[] {
  const { allow, shares, together, waiting = [], longest = [] } = group;
  const all = filesOf(group);
  const sharing = shares === undefined ? together?.files.filter((file) => all.includes(file)) ?? [] : all;
  const hands = dealt(sharing, shares ?? together?.processes ?? 1);
  const parts = [...hands, ...all.filter((file) => !sharing.includes(file)).map((file) => [file])];
  return parts.map((part, at) => {
    const isShared = at < hands.length;
    const title = !isShared ? part.join() : hands.length === 1 ? name : `${name} ${at + 1}/${hands.length}`;
    const load = part.every((file) => waiting.includes(file)) ? group.load / 2 : group.load;
    const isQuick = group.isQuick ?? false;
    const isLong = isShared || part.some((file) => longest.includes(file));
    return {
      ...jobOf(name, group),
      ...{ load, title, isQuick, isLong },
      tests: { files: part, allow, isShared },
    };
  });
}

function jobOf(name: string, { limitMinutes, load, after = [] }: Step | Group): Job & { limitMinutes: number } {
  return { name, limitMinutes, load, after };
}

/** The test files of a group, known slow ones first, the others in order. */
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

/**
 * Divides files into shares. A number of shares distributes the files in rotation, so that no share gets all slow
 * files; lists name the files of each share.
 */
function dealt(files: readonly string[], shares: number | string[][]): string[][] {
  const [count, handOf] = typeof shares === "number"
    ? [shares, (_: string, at: number): number => at % shares]
    : [shares.length + 1, (file: string): number => placeIn(shares, file)];
  const hands = Array.from({ length: count }, (_, hand) => files.filter((file, at) => handOf(file, at) === hand));
  return hands.filter((hand) => hand.length > 0);
}

/**
 * Returns the index of the first list that has the file or a folder above it; the index after the last list if none
 * has.
 */
function placeIn(lists: string[][], file: string): number {
  const place = lists.findIndex((paths) => paths.some((path) => file === path || file.startsWith(`${path}/`)));
  return place < 0 ? lists.length : place;
}
