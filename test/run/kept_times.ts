/** The previous durations of pieces, kept beside the tools, so that the next run begins with the slowest. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { cacheFolder } from "../../deploy/local/tools/environment.ts";
import type { Timed } from "./counts.ts";

/** Seconds by the title of a piece. */
export type KeptTimes = Readonly<Record<string, number>>;

/** The file for this user's durations; undefined if it cannot be stored. */
export function timesFile(): string | undefined {
  const tools = cacheFolder(process.env);
  return tools === undefined ? undefined : join(tools, "..", "test-times.json");
}

/** Returns the stored durations; nothing if they cannot be read, which only changes the order of a run. */
export function readTimes(file: string | undefined): KeptTimes {
  if (file === undefined || !existsSync(file)) return {};
  try {
    const entries = Object.entries(JSON.parse(readFileSync(file, "utf8")) as object);
    return Object.fromEntries(entries.filter(([, seconds]) => Number.isFinite(seconds)));
  } catch {
    return {};
  }
}

/** Stores the durations, and keeps the stored durations of pieces that did not run this time. */
export function keepTimes(file: string | undefined, times: readonly Timed[]): void {
  if (file === undefined || times.length === 0) return;
  const rounded = times.map(({ what, seconds }) => [what, Math.round(seconds * 10) / 10]);
  mkdirSync(dirname(file), { recursive: true });
  const whole = `${file}.${process.pid}`;
  writeFileSync(whole, `${JSON.stringify({ ...readTimes(file), ...Object.fromEntries(rounded) }, null, 2)}\n`);
  renameSync(whole, file);
}

/** A piece with a higher load (busy cores) and a longer duration (seconds) than these begins before all others. */
const large = { load: 0.5, seconds: 60 };

/** Assumed durations (seconds) of pieces that never ran: of long pieces, and of all others. */
const usual = { long: 240, other: 30 };

/**
 * Sorts pieces that start servers by duration times busy cores, the most first, so that small pieces fill the gaps at
 * the end. Quick pieces, which start no server, keep their order and come before these, because they find most
 * failures. Large pieces come first of all: otherwise small pieces would fill each gap that is too small for a large
 * one, and the large ones would run at the end, with nothing beside them.
 */
export function mostFirst<One extends { title: string; isQuick: boolean; isLong: boolean; load: number }>(
  pieces: readonly One[],
  times: KeptTimes,
): One[] {
  const secondsOf = ({ title, isLong }: One): number => times[title] ?? (isLong ? usual.long : usual.other);
  const workOf = (one: One): number => secondsOf(one) * one.load;
  const sorted = pieces.filter(({ isQuick }) => !isQuick).sort((one, other) => workOf(other) - workOf(one));
  const isLarge = (one: One): boolean => one.load > large.load && secondsOf(one) > large.seconds;
  const [first, last] = [sorted.filter(isLarge), sorted.filter((one) => !isLarge(one))];
  return [...first, ...pieces.filter(({ isQuick }) => isQuick), ...last];
}
