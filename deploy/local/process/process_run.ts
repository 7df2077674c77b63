import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, fstatSync, openSync } from "node:fs";
import process from "node:process";
import type { ProcessExit } from "./process_crash.ts";

interface RunCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Standard output and standard error are appended here. */
  readonly logPath: string;
}

/** One run of an operating system process, from start to exit, in a process group of its own. */
export class ProcessRun {
  /** Resolves when the process has ended; never rejects. */
  readonly exit: Promise<ProcessExit>;
  /** Size of the log at the start of this run, in bytes. */
  readonly logOffset: number;
  readonly #child: ChildProcess;
  #isExitExpected = false;
  #isGone = false;

  constructor(command: RunCommand) {
    const log = openSync(command.logPath, "a", 0o600);
    this.logOffset = fstatSync(log).size;
    this.#child = spawn(command.command, command.args, {
      // A session of its own, so that Ctrl-C in the terminal reaches only the parent, which then stops its processes
      // one after another.
      detached: true,
      stdio: ["ignore", log, log],
      env: { ...command.env },
      ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
    });
    closeSync(log);
    this.exit = this.#watch();
  }

  /** Process id; undefined if the operating system failed to start the process. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Sends a signal; after any signal other than SIGSTOP and SIGCONT, an exit counts as expected. */
  kill(signal: NodeJS.Signals): void {
    if (this.#isGone || this.pid === undefined) return;
    if (signal !== "SIGSTOP" && signal !== "SIGCONT") this.#isExitExpected = true;
    this.#send(this.pid, signal);
  }

  /**
   * Sends SIGTERM to the process, and after `graceMs` milliseconds SIGKILL to its process group. When the process has
   * ended, kills what remains of the group, and returns how the process ended.
   */
  async end(graceMs: number): Promise<ProcessExit> {
    this.kill("SIGTERM");
    const insist = setTimeout(() => this.#killGroup(), graceMs);
    const exit = await this.exit.finally(() => clearTimeout(insist));
    this.#killGroup();
    return exit;
  }

  #killGroup(): void {
    if (this.pid !== undefined) this.#send(-this.pid, "SIGKILL");
  }

  #send(target: number, signal: NodeJS.Signals): void {
    try {
      process.kill(target, signal);
    } catch {
      // The process has already ended.
    }
  }

  #watch(): Promise<ProcessExit> {
    return new Promise((resolve) => {
      const settle = (exit: Omit<ProcessExit, "isExpected">): void => {
        this.#isGone = true;
        resolve({ ...exit, isExpected: this.#isExitExpected });
      };
      this.#child.once("error", (error) => settle({ code: null, signal: null, spawnError: error.message }));
      this.#child.once("exit", (code, signal) => settle({ code, signal }));
    });
  }
}
