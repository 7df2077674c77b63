/** One JSON line per entry on standard error. */
import { DefaultLogger } from "@temporalio/worker";
import type { LogLevel } from "@temporalio/worker";
import process from "node:process";

/** A logger for the SDK and for us. */
export function createLogger(level: LogLevel): DefaultLogger {
  return new DefaultLogger(level, ({ level, message, meta, timestampNanos }) => {
    const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
    process.stderr.write(`${JSON.stringify({ time, level, message, ...plain(meta) })}\n`);
  });
}

// An error becomes its message and the chain of causes; stacks and attached objects stay out of the log.
function plain(meta: Record<string | symbol, unknown> = {}): Record<string, unknown> {
  const entries = Object.entries(meta).map(([key, value]) => [key, value instanceof Error ? chainOf(value) : value]);
  return Object.fromEntries(entries);
}

function chainOf(error: Error): string {
  const cause = error.cause instanceof Error ? `: ${chainOf(error.cause)}` : "";
  return `${error.name}: ${error.message}${cause}`;
}
