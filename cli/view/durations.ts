/** Times as people read them. */
import { UsageError } from "../usage_error.ts";

const units = [["d", 86_400], ["h", 3_600], ["m", 60], ["s", 1]] as const;

/** Two units at most, as kubectl writes ages: "3d4h", "12m", "45s". */
export function duration(seconds: number): string {
  let left = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const whole = Math.floor(left / size);
    left -= whole * size;
    if (whole > 0) parts.push(`${whole}${unit}`);
    else if (parts.length > 0) break;
  }
  return parts.slice(0, 2).join("") || "0s";
}

/** How long ago an RFC 3339 time was; "" where there is none. */
export function age(since: string | undefined, now: number): string {
  const at = Date.parse(since ?? "");
  return Number.isNaN(at) ? "" : duration((now - at) / 1000);
}

/** The time of day here, with the date where it is not today: "14:05", "Nov 22 14:05". */
export function clock(at: number, now: number): string {
  const time = new Date(at);
  const hours = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return time.toDateString() === new Date(now).toDateString() ? hours : `${dayOf(time)} ${hours}`;
}

/** The time of day with seconds, for lines of a log. */
export function clockSeconds(at: number, now: number): string {
  return `${clock(at, now)}:${two(new Date(at).getSeconds())}`;
}

/** "14:05 (in 12m)", "14:05 (3m ago)"; "" for no time. */
export function moment(at: number | string | undefined, now: number): string {
  const time = typeof at === "number" ? at : Date.parse(at ?? "");
  if (Number.isNaN(time)) return "";
  const far = duration(Math.abs(time - now) / 1000);
  return `${clock(time, now)} (${time > now ? `in ${far}` : `${far} ago`})`;
}

/** When something is expected; a time that has come says no more than that. */
export function etaText(eta: string, now: number): string {
  return Date.parse(eta) > now ? moment(eta, now) : "any moment";
}

/** A text with its RFC 3339 times as people here read them. */
export function localTimes(text: string, now: number): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time) => moment(time, now));
}

/** A predicted range, honest about not knowing: "12 to 19 min", "about 40 s", "not known yet". */
export function range(seconds: { low: number; high: number } | null): string {
  if (seconds === null) return "not known yet";
  const { low, high } = seconds;
  const [size, unit] = high < 120 ? [1, "s"] : high < 7_200 ? [60, "min"] : [3_600, "h"];
  const round = (value: number): number => size === 3_600 ? Math.round(value / 360) / 10 : Math.round(value / size);
  const [from, to] = [round(low), round(high)];
  return from === to ? `about ${to} ${unit}` : `${from} to ${to} ${unit}`;
}

/** Milliseconds of "90s", "15m" or "1h30m"; 0 is for ever. Throws UsageError for anything else. */
export function parseDuration(text: string): number {
  if (text === "0") return 0;
  const [whole, ...parts] = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? [];
  if (!whole) throw new UsageError(`Cannot use "${text}" as a duration: write it as 90s, 15m or 1h30m`);
  return units.reduce((sum, [, size], index) => sum + Number(parts[index] ?? 0) * size, 0) * 1000;
}

/** How long somebody waits. */
export interface Patience {
  /** As it was given; "" waits for ever. */
  text: string;
  /** Milliseconds; 0 is for ever. */
  ms: number;
}

/** Reads `--timeout`, which belongs before anything is done: throws UsageError for what is no duration. */
export function patienceOf({ timeout }: { timeout?: string }): Patience {
  return { text: timeout ?? "", ms: parseDuration(timeout ?? "0") };
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

function dayOf(time: Date): string {
  const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  return `${months[time.getMonth()]} ${time.getDate()}`;
}
