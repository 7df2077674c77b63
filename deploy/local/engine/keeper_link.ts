import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { logTail } from "../process/log_tail.ts";
import { EngineError, engineError } from "./engine_error.ts";
import type { KeeperOrder, KeeperReport, OpenedRun } from "./keeper_messages.ts";

/** The connection to the keeper, a process in a session of its own, which cleans up even if this process is killed. */
export class KeeperLink {
  /**
   * Resolves when the run is open; rejects with an EngineError, after which the keeper cleans up and exits by itself.
   */
  readonly opened: Promise<OpenedRun>;
  readonly #order: KeeperOrder;
  readonly #onProgress: (text: string) => void;
  readonly #child: ChildProcess;
  readonly #logPath: string;
  readonly #gone: Promise<void>;
  #last: KeeperReport | undefined;

  constructor(order: KeeperOrder, onProgress: (text: string) => void) {
    this.#order = order;
    this.#onProgress = onProgress;
    mkdirSync(order.directory, { recursive: true, mode: 0o700 });
    this.#logPath = join(order.directory, "keeper.log");
    this.#child = startKeeper(this.#logPath);
    const { promise, resolve, reject } = Promise.withResolvers<OpenedRun>();
    this.opened = promise;
    promise.catch(() => {});
    this.#gone = this.#follow((report) => {
      this.#last = report;
      if (report.kind === "progress") onProgress(report.text);
      if (report.kind === "opened") resolve(report.run);
    });
    this.#gone.then(async () => reject(await this.#failure("open a Docker engine")));
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  /**
   * Makes the keeper clean up, and resolves when the keeper has exited; rejects with the reasons if the cleanup failed.
   */
  async end(): Promise<void> {
    this.#child.ref();
    this.#child.stdin?.end();
    await this.#gone;
    if (this.#last?.kind === "closed") return;
    if (this.#last?.kind === "failed" || this.#order.isSweep) throw await this.#failure("close a Docker engine");
    // The keeper was killed, so a new keeper cleans up after the run of the killed one, as after any run whose process
    // has ended.
    await new KeeperLink({ ...this.#order, isSweep: true }, this.#onProgress).end();
  }

  /** Allows this process to exit while the keeper runs. */
  unref(): void {
    this.#child.unref();
  }

  async #follow(onReport: (report: KeeperReport) => void): Promise<void> {
    const { stdout } = this.#child;
    if (stdout === null) return;
    const closed = once(this.#child, "close").catch(() => {});
    const lines = createInterface({ input: stdout });
    lines.on("line", (line) => onReport(JSON.parse(line) as KeeperReport));
    await closed;
  }

  async #failure(attempt: string): Promise<EngineError> {
    if (this.#last?.kind === "failed") return new EngineError(this.#last.message);
    const { exitCode, signalCode } = this.#child;
    return engineError({
      attempt,
      state: `the process that starts and cleans up the engine ended with ${signalCode ?? `exit code ${exitCode}`}`,
      details: [`last lines of "${this.#logPath}":`, await logTail(this.#logPath)],
    });
  }
}

function startKeeper(logPath: string): ChildProcess {
  const log = openSync(logPath, "a", 0o600);
  const program = fileURLToPath(new URL("./keeper.ts", import.meta.url));
  const flags = ["--no-prompt", "--allow-all", "--no-config", "--no-lock", "--no-npm", "--no-remote"];
  const keeper = spawn(Deno.execPath(), ["run", ...flags, program], {
    detached: true,
    stdio: ["pipe", "pipe", log],
    cwd: "/",
  });
  closeSync(log);
  keeper.on("error", () => {});
  keeper.stdin?.on("error", () => {});
  return keeper;
}
