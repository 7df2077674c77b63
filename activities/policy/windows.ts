/** Maintenance windows as absolute times: when new steps may start. */
import { Cron } from "croner";
import { z } from "zod";
import { millisecondsOf, PositiveDuration } from "./duration.ts";

const day = 86_400_000;
/** How far ahead intervals are listed (ms), and the maximum number of listed intervals. */
const horizon = 60 * day;
const told = 20;
/**
 * Maximum number of starts that are computed per window, because computing all starts of a window that opens every
 * minute would take seconds. Later reads of the policy compute the later starts.
 */
const looked = 500;

/** Five fields, minute first; names of days and months, L, W and # as croner accepts them. */
const cron = z.string().min(9).max(100).regex(
  /^[A-Za-z0-9*,\/#-]+( [A-Za-z0-9*,\/#-]+){4}$/,
  "must have five fields: minute, hour, day of month, month, day of week",
);

/** Opens at each time of `cron` in `timeZone` (UTC by default) and stays open for `duration`. */
export const PolicyWindow = z.strictObject({
  cron,
  duration: PositiveDuration,
  timeZone: z.string().min(1).max(64).refine(isTimeZone, "must be a time zone such as Europe/Berlin").optional(),
}).superRefine((window, context) => {
  const fault = cronFault(window.cron);
  if (fault) context.addIssue({ code: "custom", path: ["cron"], input: window.cron, message: fault });
});
export type PolicyWindow = z.infer<typeof PolicyWindow>;

export interface Interval {
  from: number;
  to: number;
}

/**
 * Returns the interval that is open at `now` and the next ones within 60 days, or just the next one if all are later;
 * sorted by time and without overlap, at most 20, in epoch ms. A start that a clock change skips is moved to the end of
 * the skipped time, and a start that occurs twice counts once.
 */
export function openIntervals(windows: readonly PolicyWindow[], now: number): Interval[] {
  const all = windows.flatMap((window) => intervalsOf(window, now)).sort((a, b) => a.from - b.from);
  const merged = mergedOf(all);
  const near = merged.filter(({ from }) => from <= now + horizon).slice(0, told);
  return near.length > 0 ? near : merged.slice(0, 1);
}

function intervalsOf({ cron, duration, timeZone }: PolicyWindow, now: number): Interval[] {
  const length = millisecondsOf(duration);
  const clock = clockOf(cron, timeZone);
  const found: Interval[] = [];
  // Only a window that opened after `now - length` can still be open; croner returns starts after the given time, in
  // whole seconds.
  let start = clock.nextRun(new Date(now - length));
  while (start && found.length < looked) {
    const from = start.getTime();
    found.push({ from, to: from + length });
    if (from > now + horizon) break;
    start = clock.nextRun(start);
  }
  return found;
}

function mergedOf(ordered: readonly Interval[]): Interval[] {
  const merged: Interval[] = [];
  for (const { from, to } of ordered) {
    const last = merged.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  return merged;
}

function clockOf(cron: string, timeZone = "UTC"): Cron {
  return new Cron(cron, { timezone: timeZone, mode: "5-part", fixedTimeRule: "no-wildcard", paused: true });
}

function cronFault(cron: string): string | undefined {
  try {
    return clockOf(cron).nextRun(new Date(0)) ? undefined : "never matches a time";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false; // Intl throws for an unknown zone
  }
}
