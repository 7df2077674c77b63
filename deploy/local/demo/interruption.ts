import process from "node:process";

/** Somebody stopped the demo by a signal. */
export class Interruption extends Error {
  readonly exitCode: number;

  constructor(signal: keyof typeof exitCodes) {
    super(`Stopped by ${signal}`);
    this.exitCode = exitCodes[signal];
  }
}

const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Calls for the first signal; a second one ends this process at once, and what it started ends itself after it. */
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

/** Calls for an error that got past every handler, which would else end this process before it has cleaned up. */
export function onMishap(call: (mishap: Error) => void): void {
  const tell = (error: unknown): void => call(error instanceof Error ? error : new Error(String(error)));
  process.on("uncaughtException", tell);
  process.on("unhandledRejection", tell);
}
