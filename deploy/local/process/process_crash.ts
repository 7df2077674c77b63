/** How a process ended: by exit code, by signal, or (both null) without ever having started. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** True when we asked for it: stop, restart, or a deliberate kill. */
  readonly isExpected: boolean;
  /** Why the operating system refused to start it at all. */
  readonly spawnError?: string;
}

export interface ProcessCrashFacts {
  readonly processName: string;
  readonly exit: ProcessExit;
  readonly logPath: string;
  /** The last lines the crashed run wrote. */
  readonly logTail: string;
}

/** A process ended that nobody asked to end; the message carries the last lines of its log. */
export class ProcessCrash extends Error {
  readonly processName: string;
  readonly exit: ProcessExit;
  /** How it ended, in words that follow its name. */
  readonly how: string;
  readonly logTail: string;

  constructor(facts: ProcessCrashFacts) {
    const how = howItEnded(facts.exit);
    const tail = facts.logTail === "" ? "its log is empty" : `last lines of "${facts.logPath}":\n${facts.logTail}`;
    super(`Cannot keep "${facts.processName}" running: it ${how}; ${tail}`);
    this.name = "ProcessCrash";
    this.processName = facts.processName;
    this.exit = facts.exit;
    this.how = how;
    this.logTail = facts.logTail;
  }
}

function howItEnded(exit: ProcessExit): string {
  if (exit.spawnError !== undefined) return `did not start (${exit.spawnError})`;
  return exit.signal === null ? `exited with code ${exit.code}` : `was ended by ${exit.signal}`;
}
