/** How a process ended: with an exit code, by a signal, or, if both are null, because it could not be started. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Whether the exit was requested by stop, restart or kill. */
  readonly isExpected: boolean;
  /** Why the operating system failed to start the process. */
  readonly spawnError?: string;
}

interface ProcessCrashFacts {
  readonly processName: string;
  readonly exit: ProcessExit;
  readonly logPath: string;
  /** The last log lines of the crashed run. */
  readonly logTail: string;
}

/** An unexpected exit of a process; the message includes the last lines of its log. */
export class ProcessCrash extends Error {
  readonly processName: string;
  readonly exit: ProcessExit;
  /** How the process ended, to be written after its name, such as "exited with code 1". */
  readonly how: string;
  readonly logTail: string;

  constructor(facts: ProcessCrashFacts) {
    const how = howItEnded(facts.exit);
    const tail = facts.logTail === "" ? "its log is empty" : `last lines of "${facts.logPath}":\n${facts.logTail}`;
    super(`Process "${facts.processName}" ${how}; ${tail}`);
    this.name = "ProcessCrash";
    this.processName = facts.processName;
    this.exit = facts.exit;
    this.how = how;
    this.logTail = facts.logTail;
  }
}

function howItEnded(exit: ProcessExit): string {
  if (exit.spawnError !== undefined) return `failed to start (${exit.spawnError})`;
  return exit.signal === null ? `exited with code ${exit.code}` : `was terminated by ${exit.signal}`;
}
