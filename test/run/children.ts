/** The programs that a run starts: each leads its own process group, so that none of its children can outlive it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { OrphanGuard } from "../../deploy/local/process/orphan_guard.ts";
import { waitFor } from "../../deploy/local/process/wait_until.ts";

/** One Deno process to run. */
export interface Order {
  args: string[];
  limitMinutes: number;
  /** File that gets the output of the child, in place of the output of the current process. */
  log?: string;
  /** Environment variables of the child, in addition to those of the current process. */
  env?: Record<string, string>;
  /** File into which a shell writes the CPU time of the child and its awaited children, as `parseTimes` reads it. */
  times?: string;
}

/** The end of a child. */
export interface Exit {
  isSuccess: boolean;
  /** Whether the child was stopped because it was late or interrupted. */
  isStopped: boolean;
  /** Why the child failed. */
  note?: string;
}

/** The root of the repository, where every child runs. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

const graceMs = 10_000;

/** Runs any number of denos concurrently. */
export class Children {
  readonly #leaders = new Set<number>();
  readonly #guard = new OrphanGuard();
  #isInterrupted = false;

  get isInterrupted(): boolean {
    return this.#isInterrupted;
  }

  /** Stops all that run, and lets nothing start from then on. */
  interrupt(): void {
    this.#isInterrupted = true;
    for (const leader of this.#leaders) void endGroup(leader, "SIGINT");
  }

  /** Resolves when the child and all its children have ended; never rejects because of the child. */
  async run({ limitMinutes, ...order }: Order): Promise<Exit> {
    if (this.#isInterrupted) return stopped("interrupted");
    const child = start(order);
    const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
    const leader = child.pid as number;
    this.#leaders.add(leader);
    this.#guard.add(leader);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      void endGroup(leader, "SIGINT");
    }, limitMinutes * 60_000);
    const [code, signal] = await ended;
    clearTimeout(timer);
    await endGroup(leader, "SIGTERM");
    this.#leaders.delete(leader);
    this.#guard.remove(leader);
    if (isLate) return stopped(`stopped after ${limitMinutes} minutes`);
    if (this.#isInterrupted) return stopped("interrupted");
    return code === 0 ? { isSuccess: true, isStopped: false } : failed(`exit ${signal ?? code}`);
  }

  /** Ends the guard process, and all processes that are still registered with it. */
  async close(): Promise<void> {
    await this.#guard.close();
  }
}

function stopped(note: string): Exit {
  return { isSuccess: false, isStopped: true, note };
}

function failed(note: string): Exit {
  return { isSuccess: false, isStopped: false, note };
}

/** The traps keep the shell alive until the child, which gets the same signal, has ended. */
const timed = `trap : INT TERM; file=$1; shift; "$@"; code=$?; times > "$file"; exit $code`;

function start({ args, log, env, times }: Omit<Order, "limitMinutes">): ReturnType<typeof spawn> {
  const output = log === undefined ? "inherit" : openSync(log, "a");
  const [program, given] = times === undefined
    ? [process.execPath, args]
    : ["/bin/sh", ["-c", timed, "sh", times, process.execPath, ...args]];
  try {
    return spawn(program, given, {
      ...{ cwd: root, detached: true, stdio: ["ignore", output, output] },
      env: { ...process.env, ...colours(), ...env },
    });
  } finally {
    if (output !== "inherit") closeSync(output);
  }
}

/** Disables colors unless the output is a terminal, because Deno would write colors into a file or a pipe too. */
function colours(): Record<string, string> {
  return process.stdout.isTTY || process.env["FORCE_COLOR"] !== undefined ? {} : { NO_COLOR: "1" };
}

/** Terminates a whole process group, and kills it after a while; resolves when no process of it is left. */
async function endGroup(leader: number, signal: NodeJS.Signals): Promise<void> {
  const isGone = (): boolean => !isSent(leader, 0);
  const waits = { what: "the end of all processes", timeoutMs: graceMs, pausesMs: [50, 50] } as const;
  if (isSent(leader, signal)) await waitFor(isGone, waits).catch(() => undefined);
  isSent(leader, "SIGKILL");
}

/** Signals all of a process group; false when none of them is left. */
function isSent(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch {
    return false;
  }
}
