import process from "node:process";

/** Thrown if a signal stopped the demo. */
export class Interruption extends Error {
  readonly exitCode: number;

  constructor(signal: keyof typeof exitCodes) {
    super(`Stopped by ${signal}`);
    this.exitCode = exitCodes[signal];
  }
}

const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Calls `call` at the first SIGINT, SIGTERM or SIGHUP; a second signal ends this process immediately, after which
 * OrphanGuard ends the processes that it started.
 */
export function onInterruption(call: (interruption: Interruption) => void): void {
  let isStopping = false;
  for (const signal of Object.keys(exitCodes) as (keyof typeof exitCodes)[]) {
    process.on(signal, () => {
      if (isStopping) process.exit(exitCodes[signal]);
      isStopping = true;
      call(new Interruption(signal));
    });
  }
}

/** Calls `call` for an unhandled error, which would otherwise end this process before it has cleaned up. */
export function onMishap(call: (failure: Error) => void): void {
  const report = (error: unknown): void => call(error instanceof Error ? error : new Error(String(error)));
  process.on("uncaughtException", report);
  process.on("unhandledRejection", report);
}
