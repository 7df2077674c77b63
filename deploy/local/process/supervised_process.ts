import { logTail } from "./log_tail.ts";
import type { OrphanGuard } from "./orphan_guard.ts";
import { ProcessCrash, type ProcessExit } from "./process_crash.ts";
import { ProcessRun } from "./process_run.ts";
import { type Probe, waitUntil } from "./wait_until.ts";
import process from "node:process";

/** The command to run, and its readiness probe. */
export interface ProcessSpec {
  /** Name, unique within the supervisor; also the name of the log file. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Environment variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly ready: Probe;
  /** Maximum time from start to ready in milliseconds; default 60 s. */
  readonly readyTimeoutMs?: number;
  /** Time between SIGTERM and SIGKILL in milliseconds; default 5 s. */
  readonly graceMs?: number;
  /** Whether the process is restarted when it exits unexpectedly after it was ready, unless it exits too often. */
  readonly isRevived?: boolean;
}

/** The services of a supervisor for its processes. */
interface ProcessSurroundings {
  readonly logPath: string;
  readonly guard: OrphanGuard;
  /** Aborted when the supervisor stops; no process starts afterwards. */
  readonly lifetime: AbortSignal;
  /** Called once for each unexpected exit after readiness. */
  readonly onCrash: (crash: ProcessCrash) => void;
}

const defaultReadyTimeoutMs = 60_000;
const defaultGraceMs = 5_000;

/** A named process that can be started, killed and restarted with the same command, writing to one log file. */
export class SupervisedProcess {
  readonly spec: ProcessSpec;
  readonly logPath: string;
  readonly #surroundings: ProcessSurroundings;
  #run: ProcessRun | undefined;
  #isWanted = false;

  constructor(spec: ProcessSpec, surroundings: ProcessSurroundings) {
    this.spec = spec;
    this.logPath = surroundings.logPath;
    this.#surroundings = surroundings;
  }

  get name(): string {
    return this.spec.name;
  }

  /** Process id; undefined while the process does not run. */
  get pid(): number | undefined {
    return this.isRunning ? this.#run?.pid : undefined;
  }

  get isRunning(): boolean {
    return this.#run !== undefined && !this.#run.isGone;
  }

  /** Whether the process was started and not intentionally stopped since. */
  get isWanted(): boolean {
    return this.#isWanted;
  }

  /** Resolves when the current or last run has ended; rejects if the process was never started. */
  get exit(): Promise<ProcessExit> {
    return this.#run?.exit ??
      Promise.reject(new Error(`Failed to wait for the exit of process "${this.name}": it was never started`));
  }

  /**
   * Starts the process, and resolves when it is ready. Rejects with ProcessCrash if the process ends before it is
   * ready, with the error of the last probe if it is not ready in time, or with the signal's reason if the signal
   * aborts. Stops the process before it rejects.
   */
  async start(signal?: AbortSignal): Promise<void> {
    const { lifetime } = this.#surroundings;
    const until = signal === undefined ? lifetime : AbortSignal.any([signal, lifetime]);
    until.throwIfAborted();
    if (this.isRunning) throw new Error(`Failed to start process "${this.name}": it is already running`);
    this.#isWanted = true;
    const run = this.#spawn();
    try {
      await this.#awaitReady(run, until);
    } catch (error) {
      await run.end(this.#graceMs);
      throw error;
    }
    void run.exit.then((exit) => this.#reportCrash(run, exit));
  }

  /**
   * Sends a signal without waiting; after any signal other than SIGSTOP and SIGCONT, an exit is not a crash. Await
   * `exit` to wait for the end.
   */
  kill(signal: NodeJS.Signals): void {
    if (signal !== "SIGSTOP" && signal !== "SIGCONT") this.#isWanted = false;
    this.#run?.kill(signal);
  }

  /** Sends SIGTERM, then SIGKILL after the grace period; resolves when the process has ended. */
  async stop(): Promise<void> {
    this.#isWanted = false;
    await this.#run?.end(this.#graceMs);
  }

  /** Stops the process if it runs, and resolves when a new run of the same command is ready. */
  async restart(signal?: AbortSignal): Promise<void> {
    await this.stop();
    await this.start(signal);
  }

  get #graceMs(): number {
    return this.spec.graceMs ?? defaultGraceMs;
  }

  #spawn(): ProcessRun {
    const { command, args, cwd, env } = this.spec;
    const run = new ProcessRun({
      command,
      args,
      env: childEnvironment(env),
      logPath: this.logPath,
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.#run = run;
    const { pid } = run;
    if (pid !== undefined) {
      this.#surroundings.guard.add(pid);
      void run.exit.then(() => this.#surroundings.guard.remove(pid));
    }
    return run;
  }

  async #awaitReady(run: ProcessRun, until: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const unlessEnded = run.exit.then(async (exit) => ended.abort(await this.#earlyEnd(run, exit)));
    const signal = AbortSignal.any([until, ended.signal]);
    const timeoutMs = this.spec.readyTimeoutMs ?? defaultReadyTimeoutMs;
    await waitUntil(this.spec.ready, { what: `process "${this.name}" to become ready`, timeoutMs, signal });
    // Another process on the same port may have answered the probe after this process had ended.
    if (run.isGone) await unlessEnded;
    ended.signal.throwIfAborted();
  }

  async #earlyEnd(run: ProcessRun, exit: ProcessExit): Promise<Error> {
    if (exit.isExpected) return new Error(`Failed to wait for process "${this.name}" to become ready: it was stopped`);
    return await this.#crash(run, exit);
  }

  async #reportCrash(run: ProcessRun, exit: ProcessExit): Promise<void> {
    if (!exit.isExpected) this.#surroundings.onCrash(await this.#crash(run, exit));
  }

  async #crash(run: ProcessRun, exit: ProcessExit): Promise<ProcessCrash> {
    const tail = await logTail(this.logPath, { from: run.logOffset });
    return new ProcessCrash({ processName: this.name, exit, logPath: this.logPath, logTail: tail });
  }
}

// Variables with these prefixes silently change the behavior of etcd, the Kubernetes programs and the Temporal CLI.
const reconfiguring = /^(ETCD_|ETCDCTL_|KUBE|TEMPORAL_|POD_NAMESPACE$)/;

/** Returns the environment of this process without variables that reconfigure the embedded servers, plus `extra`. */
export function childEnvironment(
  extra: Readonly<Record<string, string>> = {},
  own: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const kept = Object.entries(own).filter(([name, value]) => value !== undefined && !reconfiguring.test(name));
  return { ...Object.fromEntries(kept), ...extra } as Record<string, string>;
}
