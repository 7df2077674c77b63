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

/** Stores the durations beside those of pieces that did not run now. */
export function keepTimes(file: string | undefined, times: readonly Timed[]): void {
  if (file === undefined || times.length === 0) return;
  const rounded = times.map(({ what, seconds }) => [what, Math.round(seconds * 10) / 10]);
  mkdirSync(dirname(file), { recursive: true });
  const whole = `${file}.${process.pid}`;
  writeFileSync(whole, `${JSON.stringify({ ...readTimes(file), ...Object.fromEntries(rounded) }, null, 2)}\n`);
  renameSync(whole, file);
}

/**
 * Sorts pieces that start servers by duration times busy cores, the most first: small pieces fill the gaps at the end.
 * Unknown ones count as `unknownSeconds`. Everything else stays in front in its order, because it is quick and finds
 * most failures.
 */
export function mostFirst<One extends { title: string; isQuick: boolean; load: number }>(
  pieces: readonly One[],
  times: KeptTimes,
  unknownSeconds = 120,
): One[] {
  const workOf = ({ title, load }: One): number => (times[title] ?? unknownSeconds) * load;
  const others = pieces.filter(({ isQuick }) => !isQuick).sort((one, other) => workOf(other) - workOf(one));
  return [...pieces.filter(({ isQuick }) => isQuick), ...others];
}
