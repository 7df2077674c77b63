/**
 * Start and end of a process: reads its settings, handles SIGINT and SIGTERM, logs its failure, and sets the exit code.
 */
import process from "node:process";
import type { Config } from "./config.ts";
import { LeaseLost } from "./leader.ts";
import { createLogger } from "./logger.ts";
import { settingsOfProcess } from "./settings_of_process.ts";

/** Exit codes that supervisors may rely on; `settingsOfProcess` exits with 2 for invalid settings. */
export const exitCodes = { stopped: 0, failed: 1, leaseLost: 75 } as const;

/** Runs until SIGINT, SIGTERM or a failure, and exits; the supervisor restarts the process. */
export async function runProcess(run: (config: Config, signal: AbortSignal) => Promise<void>): Promise<never> {
  const config = settingsOfProcess();
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  try {
    await run(config, stop.signal);
    process.exit(exitCodes.stopped);
  } catch (error) {
    const log = createLogger(config.logLevel);
    if (error instanceof LeaseLost) log.warn(error.message);
    else log.error("Process failed; exiting", { error });
    process.exit(exitCodeOf(error));
  }
}

/** Returns the exit code of a failed process. */
export function exitCodeOf(error: unknown): number {
  return error instanceof LeaseLost ? exitCodes.leaseLost : exitCodes.failed;
}
