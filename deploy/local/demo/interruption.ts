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
