import { waitFor } from "../process/wait_until.ts";
import { configArgument } from "./daemon_config.ts";
import type { EngineFolders } from "./engine_folders.ts";
import { kernelProc, startOf } from "./owner.ts";

/**
 * Returns the ids of the processes for which `says` accepts the text of `file` in /proc/PID; leaves out this process.
 */
export async function processesWhere(
  file: "cmdline" | "cgroup" | "comm",
  says: (text: string) => boolean,
  proc = kernelProc,
): Promise<number[]> {
  const pids: number[] = [];
  for await (const { name } of Deno.readDir(proc)) {
    if (!/^\d+$/.test(name) || Number(name) === Deno.pid) continue;
    const text = await Deno.readTextFile(`${proc}/${name}/${file}`).catch(() => "");
    if (says(text)) pids.push(Number(name));
  }
  return pids;
}

/** Returns the process id of the engine's daemon; undefined if it does not run. */
export async function daemonOf(folders: EngineFolders): Promise<number | undefined> {
  const argument = configArgument(folders);
  return (await processesWhere("cmdline", (line) => line.split("\0").includes(argument)))[0];
}

/**
 * Sends SIGTERM to the processes, and SIGKILL if one of them still runs after `graceMs`. Resolves when all have ended,
 * at the latest `graceMs` after SIGKILL.
 */
export async function endProcesses(pids: readonly number[], graceMs: number): Promise<void> {
  send(pids, "SIGTERM");
  if (await areGone(pids, graceMs)) return;
  send(pids, "SIGKILL");
  await areGone(pids, graceMs);
}

/** Kills all remaining processes in the engine's containers, and their shims. */
export async function killRemains({ cgroup, volatile }: EngineFolders): Promise<void> {
  const isRemains = new RegExp(`[:/]${cgroup}/`);
  const contained = await processesWhere("cgroup", (text) => isRemains.test(text));
  const serving = await processesWhere("cmdline", (line) => line.includes(`${volatile}/`));
  const remains = [...contained, ...serving];
  send(remains, "SIGKILL");
  await areGone(remains, 5_000);
}

function send(pids: readonly number[], signal: Deno.Signal): void {
  for (const pid of pids) {
    try {
      Deno.kill(pid, signal);
    } catch {
      // The process has already ended.
    }
  }
}

async function areGone(pids: readonly number[], withinMs: number): Promise<boolean> {
  const look = async (): Promise<boolean> => {
    return (await Promise.all(pids.map((pid) => startOf(pid)))).every((start) => start === undefined);
  };
  return await waitFor(look, { what: "the end of processes", timeoutMs: withinMs }).catch(() => false);
}
