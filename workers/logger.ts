/** Writes one JSON line per entry to standard error; needs no native code, so the controller can use it too. */
import type { Logger, LogLevel, LogMetadata } from "@temporalio/common";
import process from "node:process";

const severities: Record<LogLevel, number> = { TRACE: 0, DEBUG: 1, INFO: 2, WARN: 3, ERROR: 4 };

/** Returns a logger, for Temporal's SDK and for Ostler, that skips entries below level `least`. */
export function createLogger(least: LogLevel): Logger {
  const log = (level: LogLevel, message: string, meta: LogMetadata = {}): void => {
    if (severities[level] < severities[least]) return;
    process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...plain(meta) })}\n`);
  };
  return {
    log,
    trace: (message, meta) => log("TRACE", message, meta),
    debug: (message, meta) => log("DEBUG", message, meta),
    info: (message, meta) => log("INFO", message, meta),
    warn: (message, meta) => log("WARN", message, meta),
    error: (message, meta) => log("ERROR", message, meta),
  };
}

// An error becomes the messages in its chain of causes, without stacks and attached objects.
function plain(meta: LogMetadata): Record<string, unknown> {
  const entries = Object.entries(meta).map(([key, value]) => [key, value instanceof Error ? chainOf(value) : value]);
  return Object.fromEntries(entries);
}

function chainOf(error: Error): string {
  const cause = error.cause instanceof Error ? `: ${chainOf(error.cause)}` : "";
  return `${error.name}: ${error.message}${cause}`;
}
