import { join } from "node:path";
import type { Environment } from "../tools/environment.ts";
import { daemonOf, endProcesses, killRemains } from "./daemon_processes.ts";
import type { EngineFolders } from "./engine_folders.ts";
import { closeForwarding } from "./forwarding.ts";
import { ignoreAbsence } from "./run_record.ts";

const graceMs = 10_000;

/** Stops an engine if it runs, and removes everything that it left on this host except images. Idempotent. */
export async function stopEngine(folders: EngineFolders, env: Environment): Promise<void> {
  const daemon = await daemonOf(folders);
  if (daemon !== undefined) await endProcesses([daemon], graceMs);
  await killRemains(folders);
  await unmountBelow(folders);
  await closeForwarding(folders, env);
  await removeCgroups(folders);
  await Deno.remove(folders.volatile, { recursive: true }).catch(ignoreAbsence);
}

async function unmountBelow({ dataRoot, volatile }: EngineFolders): Promise<void> {
  const mounts = (await Deno.readTextFile("/proc/mounts")).split("\n").map((line) => line.split(" ")[1] ?? "");
  const ours = mounts.filter((path) =>
    path === dataRoot || [dataRoot, volatile].some((at) => path.startsWith(`${at}/`))
  );
  // The latest mount is unmounted first, because a mount is busy while another one is below it.
  for (const path of ours.toReversed()) {
    await new Deno.Command("umount", { args: ["--lazy", path], stdout: "null", stderr: "null" }).output();
  }
}

async function removeCgroups({ cgroup }: EngineFolders): Promise<void> {
  const mounts = (await Deno.readTextFile("/proc/mounts")).split("\n").map((line) => line.split(" "));
  const hierarchies = mounts.filter(([, , kind]) => kind === "cgroup" || kind === "cgroup2").map(([, path = ""]) =>
    path
  );
  for (const path of new Set(hierarchies)) await removeCgroup(join(path, cgroup));
}

/**
 * Removes a cgroup and the cgroups below it, the deepest first; removes only their folders, because their files cannot
 * be removed. Leaves a cgroup in which a process still runs.
 */
async function removeCgroup(path: string): Promise<void> {
  try {
    for await (const { name, isDirectory } of Deno.readDir(path)) {
      if (isDirectory) await removeCgroup(join(path, name));
    }
    await Deno.remove(path);
  } catch {
    // The cgroup is absent, or a process in the cgroup is still ending; an empty cgroup is harmless.
  }
}
