import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { definedVariables, type Environment } from "../tools/environment.ts";
import { logTail } from "../process/log_tail.ts";
import { waitUntil } from "../process/wait_until.ts";
import { daemonArguments, daemonConfig } from "./daemon_config.ts";
import { DockerApi } from "./docker_api.ts";
import { engineError, reasonOf } from "./engine_error.ts";
import type { EngineFolders } from "./engine_folders.ts";
import { freeAddressPool, openForwarding } from "./forwarding.ts";
import { ignoreAbsence, writeWhole } from "./run_record.ts";
import { ensureRuntimeWrapper } from "./runtime_wrapper.ts";

const readyMs = 60_000;

/** Starts an engine of ours, which outlives us until `stopEngine`; throws with the end of its log when it does not come up. */
export async function startEngine(folders: EngineFolders, env: Environment, signal: AbortSignal): Promise<void> {
  await Deno.mkdir(folders.dataRoot, { recursive: true, mode: 0o700 });
  // A daemon that finds its old default network removes "docker0", whoever's it is, where it has an address pool.
  await Deno.remove(join(folders.dataRoot, "network"), { recursive: true }).catch(ignoreAbsence);
  const runtimePath = await ensureRuntimeWrapper(folders.directory, env);
  const pool = await freeAddressPool(env);
  await writeWhole(folders.configPath, JSON.stringify(daemonConfig(folders, pool, runtimePath), null, 2));
  await openForwarding(folders, pool, env);
  const gone = spawnDaemon(folders, env);
  const api = new DockerApi(folders.socketPath);
  const probe = async (): Promise<void> => {
    await api.get("/_ping", { timeoutMs: 2_000 });
  };
  const answers = waitUntil(probe, { what: "an answer of dockerd", timeoutMs: readyMs, signal });
  await Promise.race([answers, gone]).catch(async (error: unknown) => {
    // Whichever loses the race must not count as unhandled.
    answers.catch(() => {});
    signal.throwIfAborted();
    throw engineError({
      attempt: `start a Docker engine in "${folders.directory}"`,
      state: reasonOf(error),
      details: [`last lines of "${folders.logPath}":`, await logTail(folders.logPath)],
      cause: error,
    });
  });
}

/** Rejects when the daemon ends; never resolves. */
function spawnDaemon(folders: EngineFolders, env: Environment): Promise<never> {
  const log = openSync(folders.logPath, "w", 0o600);
  const daemon = spawn("dockerd", daemonArguments(folders), {
    // A session of its own: neither a terminal's Ctrl-C nor our end may reach it before its containers are gone.
    detached: true,
    stdio: ["ignore", log, log],
    env: definedVariables(env),
    cwd: "/",
  });
  closeSync(log);
  daemon.unref();
  const gone = new Promise<never>((_, reject) => {
    daemon.once("error", reject);
    daemon.once("exit", (code, name) => reject(new Error(`dockerd ended with ${name ?? `code ${code}`}`)));
  });
  gone.catch(() => {});
  return gone;
}
