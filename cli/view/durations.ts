/** Times and durations in the form that users read. */
import { UsageError } from "../usage_error.ts";

const units = [["d", 86_400], ["h", 3_600], ["m", 60], ["s", 1]] as const;

/** Returns a duration with at most two units, in the form of kubectl: "3d4h", "12m", "45s". */
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

/** Returns the duration since an RFC 3339 time; "" without a time. */
export function age(since: string | undefined, now: number): string {
  const at = Date.parse(since ?? "");
  return Number.isNaN(at) ? "" : duration((now - at) / 1000);
}

/** Returns the local time of day, with the date if it is not today: "14:05", "Nov 22 14:05". */
export function clock(at: number, now: number): string {
  const time = new Date(at);
  const hours = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return time.toDateString() === new Date(now).toDateString() ? hours : `${dayOf(time)} ${hours}`;
}

/** Returns the local time of day with seconds, for lines of a log. */
export function clockSeconds(at: number, now: number): string {
  return `${clock(at, now)}:${two(new Date(at).getSeconds())}`;
}

/** Returns "14:05 (in 12m)" or "14:05 (3m ago)"; "" without a time. */
export function moment(at: number | string | undefined, now: number): string {
  const time = typeof at === "number" ? at : Date.parse(at ?? "");
  if (Number.isNaN(time)) return "";
  const far = duration(Math.abs(time - now) / 1000);
  return `${clock(time, now)} (${time > now ? `in ${far}` : `${far} ago`})`;
}

/** Returns an expected time; "any moment" if it has passed. */
export function etaText(eta: string, now: number): string {
  return Date.parse(eta) > now ? moment(eta, now) : "any moment";
}

/** Returns a text with its RFC 3339 times in local time. */
export function localTimes(text: string, now: number): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time) => moment(time, now));
}

/** Returns a predicted range: "12 to 19 min", "about 40 s", "not known yet". */
export function range(seconds: { low: number; high: number } | null): string {
  if (seconds === null) return "not known yet";
  const { low, high } = seconds;
  const [size, unit] = high < 120 ? [1, "s"] : high < 7_200 ? [60, "min"] : [3_600, "h"];
  const round = (value: number): number => size === 3_600 ? Math.round(value / 360) / 10 : Math.round(value / size);
  const [from, to] = [round(low), round(high)];
  return from === to ? `about ${to} ${unit}` : `${from} to ${to} ${unit}`;
}

/** Returns the milliseconds of "90s", "15m" or "1h30m"; 0 is unlimited. Throws UsageError for anything else. */
export function parseDuration(text: string): number {
  if (text === "0") return 0;
  const [whole, ...parts] = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text) ?? [];
  if (!whole) throw new UsageError(`Failed to use "${text}" as a duration: expected a form such as 90s, 15m or 1h30m`);
  return units.reduce((sum, [, size], index) => sum + Number(parts[index] ?? 0) * size, 0) * 1000;
}

/** The longest wait of a command. */
export interface Patience {
  /** The duration as given; "" is unlimited. */
  text: string;
  /** Milliseconds; 0 is unlimited. */
  ms: number;
}

/** Reads `--timeout`; throws UsageError for an invalid duration, so commands call it before they act. */
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
