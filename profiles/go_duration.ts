const units: Record<string, number> = { ns: 1e-9, us: 1e-6, "µs": 1e-6, "μs": 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };

const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g;
const whole = /^((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/;

/** The longest duration in seconds: Go counts nanoseconds in 64 bits, which is about 292 years. */
const longest = 2 ** 63 / 1e9;

/** Returns the seconds of a Go duration such as "1h30m", or undefined if the text is not a duration or is negative. */
export function parseGoDuration(text: string): number | undefined {
  if (text === "0") return 0;
  if (!whole.test(text)) return undefined;
  const seconds = [...text.matchAll(part)]
    .reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * (units[unit] ?? 0), 0);
  return seconds < longest ? seconds : undefined;
}

/** Returns whether Go's time.ParseDuration accepts the text, which may be negative. */
export function isGoDuration(text: string): boolean {
  return parseGoDuration(text.replace(/^[+-]/, "")) !== undefined;
}

/** Returns seconds as Go prints a duration: 5400 as "1h30m0s". */
export function formatGoDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const rest = Number((seconds % 60).toFixed(9));
  if (hours > 0) return `${hours}h${minutes}m${rest}s`;
  return minutes > 0 ? `${minutes}m${rest}s` : `${rest}s`;
}
