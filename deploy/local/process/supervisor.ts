import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { OrphanGuard } from "./orphan_guard.ts";
import type { ProcessCrash } from "./process_crash.ts";
import { Revival } from "./revival.ts";
import { type ProcessSpec, SupervisedProcess } from "./supervised_process.ts";

export interface SupervisorOptions {
  /** Folder of the processes; logs go to `<directory>/logs/<name>.log`. */
  readonly directory: string;
  /**
   * Called when a ready process exits unexpectedly and is not restarted, either because its spec does not ask for
   * restarts or because it has exited too often. If a process exits before it is ready, `start` rejects instead.
   */
  readonly onCrash?: (crash: Error) => void;
  /** Called with one line for each restart of a process after an unexpected exit. */
  readonly onRevival?: (line: string) => void;
}

/** Runs named processes that never outlive this process, even if it is killed. */
export class Supervisor {
  /** Resolves with the first error that is passed to `onCrash`; stays pending until then. */
  readonly firstCrash: Promise<Error>;
  readonly #logs: string;
  readonly #guard = new OrphanGuard();
  readonly #processes = new Map<string, SupervisedProcess>();
  readonly #reportCrash: (crash: Error) => void;
  readonly #reportRevival: (line: string) => void;
  readonly #lifetime = new AbortController();

  constructor(options: SupervisorOptions) {
    this.#logs = join(options.directory, "logs");
    mkdirSync(this.#logs, { recursive: true, mode: 0o700 });
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.firstCrash = promise;
    this.#reportCrash = (crash) => {
      resolve(crash);
      options.onCrash?.(crash);
    };
    this.#reportRevival = (line) => options.onRevival?.(line);
  }

  /** Returns all processes in the order of their starts; of several starts under one name, only the last process. */
  get processes(): readonly SupervisedProcess[] {
    return [...this.#processes.values()];
  }

  /** Returns the process with this name; throws if no process was started under this name. */
  get(name: string): SupervisedProcess {
    const found = this.#processes.get(name);
    if (found === undefined) throw new Error(`Failed to find process "${name}": it was never started`);
    return found;
  }

  /** Resolves when the process is ready; rejects like SupervisedProcess.start, without leaving a process running. */
  async start(spec: ProcessSpec, signal?: AbortSignal): Promise<SupervisedProcess> {
    if (this.#processes.get(spec.name)?.isRunning) {
      throw new Error(`Failed to start process "${spec.name}": it is already running`);
    }
    const started: SupervisedProcess = new SupervisedProcess(spec, {
      logPath: join(this.#logs, `${spec.name}.log`),
      guard: this.#guard,
      lifetime: this.#lifetime.signal,
      onCrash: (crash) => onEnd(crash),
    });
    const onEnd = spec.isRevived ? this.#revivalOf(started) : this.#reportCrash;
    // The entry is removed first, so that a second start under the same name moves the process to the end of the order.
    this.#processes.delete(spec.name);
    this.#processes.set(spec.name, started);
    await started.start(signal);
    return started;
  }

  #revivalOf(process: SupervisedProcess): (crash: ProcessCrash) => void {
    const { signal: lifetime } = this.#lifetime;
    const revival = new Revival(process, { say: this.#reportRevival, giveUp: this.#reportCrash, lifetime });
    return (crash) => void revival.after(crash);
  }

  /** Stops all processes one after the other, latest first; can be called repeatedly and during starts. */
  async stop(): Promise<void> {
    this.#lifetime.abort(new Error("Failed to start or wait for a process: the supervisor was stopped"));
    for (const started of this.processes.toReversed()) await started.stop();
    await this.#guard.close();
  }
}
