/** How a process begins and ends: settings in, a signal to stop, one line about what it fails with, and an exit code. */
import process from "node:process";
import type { Config } from "./config.ts";
import { LeaseLost } from "./leader.ts";
import { createLogger } from "./logger.ts";
import { settingsOfProcess } from "./settings_of_process.ts";

/** What supervisors may rely on; 2, for wrong settings, is given by `settingsOfProcess`. */
export const exitCodes = { stopped: 0, failed: 1, leaseLost: 75 } as const;

/** Runs until SIGINT or SIGTERM, or until it fails, and ends the process; whoever started it starts it again. */
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

/** The exit code of a process that failed. */
export function exitCodeOf(error: unknown): number {
  return error instanceof LeaseLost ? exitCodes.leaseLost : exitCodes.failed;
}
