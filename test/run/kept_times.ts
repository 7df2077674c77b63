/** What pieces took the last time, kept beside the tools, so that the next run begins with those that take longest. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { cacheFolder } from "../../deploy/local/tools/environment.ts";
import type { Timed } from "./counts.ts";

/** Seconds by the title of a piece. */
export type KeptTimes = Readonly<Record<string, number>>;

/** Where this user's times are; undefined where nothing can be kept. */
export function timesFile(): string | undefined {
  const tools = cacheFolder(process.env);
  return tools === undefined ? undefined : join(tools, "..", "test-times.json");
}

/** Returns what was kept; nothing where that cannot be read, as then only the order of a run differs. */
export function readTimes(file: string | undefined): KeptTimes {
  if (file === undefined || !existsSync(file)) return {};
  try {
    const entries = Object.entries(JSON.parse(readFileSync(file, "utf8")) as object);
    return Object.fromEntries(entries.filter(([, seconds]) => Number.isFinite(seconds)));
  } catch {
    return {};
  }
}

/** Keeps the times beside those of pieces that did not run now. */
export function keepTimes(file: string | undefined, times: readonly Timed[]): void {
  if (file === undefined || times.length === 0) return;
  const rounded = times.map(({ what, seconds }) => [what, Math.round(seconds * 10) / 10]);
  mkdirSync(dirname(file), { recursive: true });
  const whole = `${file}.${process.pid}`;
  writeFileSync(whole, `${JSON.stringify({ ...readTimes(file), ...Object.fromEntries(rounded) }, null, 2)}\n`);
  renameSync(whole, file);
}

/**
 * Sorts what starts servers by the time it took and the cores it kept busy, the most first: what needs little room fills the
 * gaps at the end. What is unknown counts as `unknownSeconds`. Everything else stays in front in its order, as it is quick and
 * tells most of what is wrong.
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
