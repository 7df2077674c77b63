import { closeDeadRuns } from "./close_run.ts";
import { daemonOf } from "./daemon_processes.ts";
import { DockerApi } from "./docker_api.ts";
import { type Fitness, judgeEngine } from "./engine_fitness.ts";
import { engineError, reasonOf } from "./engine_error.ts";
import { type EngineFolders, engineFolders } from "./engine_folders.ts";
import { howToGetEngine, installEngine } from "./install_engine.ts";
import type { KeeperOrder, OpenedRun } from "./keeper_messages.ts";
import { createMachineNetwork } from "./machine_network.ts";
import { alone, type RunScope } from "./run_scope.ts";
import { stopEngine } from "./stop_engine.ts";
import { sweepDeadRuns } from "./sweep.ts";
import { join } from "node:path";
import { definedVariables, type Environment } from "../tools/environment.ts";
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { logTail } from "../process/log_tail.ts";
import { waitUntil } from "../process/wait_until.ts";
import { daemonArguments, daemonConfig } from "./daemon_config.ts";
import { freeAddressPool, openForwarding } from "./forwarding.ts";
import { ignoreAbsence, writeWhole } from "./run_record.ts";
import { ensureRuntimeWrapper } from "./runtime_wrapper.ts";

interface ChosenEngine extends FoundEngine {
  readonly isOurs: boolean;
}

/**
 * Finds or starts an engine and creates a network for this run; the caller must call `closeRun` even after an error, to
 * release what the run already holds.
 */
export async function openRun(scope: RunScope, order: KeeperOrder, signal: AbortSignal): Promise<OpenedRun> {
  return await alone(scope, signal, async () => {
    // A failed cleanup after another run is only reported, so that it does not prevent this run.
    const tell = (error: unknown): void => scope.onProgress(reasonOf(error));
    await closeDeadRuns(scope).catch(tell);
    await record(scope, {});
    const { socketPath, isOurs, version, driver } = await chooseEngine(scope, order, signal);
    await record(scope, { socketPath, ...(isOurs ? { engineDirectory: order.directory } : {}) });
    scope.onProgress(
      `Docker engine ${version} (${driver}) at "unix://${socketPath}"${isOurs ? ", started for this run" : ""}`,
    );
    // Saves this host's kernel settings if the engine already existed; for an engine that Ostler starts, `ourEngine`
    // has saved them before the start.
    await scope.hostSettings.save();
    const api = new DockerApi(socketPath);
    const swept = await sweepDeadRuns(api).catch((error: unknown) => (tell(error), []));
    for (const runId of swept) scope.onProgress(`removed leftovers of run ${runId}`);
    signal.throwIfAborted();
    const network = await createMachineNetwork(api, scope.runId, scope.labels);
    return { socketPath, isOurs, version, labels: scope.labels, network };
  });
}

async function chooseEngine(scope: RunScope, order: KeeperOrder, signal: AbortSignal): Promise<ChosenEngine> {
  const ours = engineFolders(scope.state, order.directory);
  const search = engineSearch(scope.env);
  const judge = (socketPath: string): Promise<Fitness> => judgeEngine(new DockerApi(socketPath), scope.labels);
  const isOursUp = await daemonOf(ours) !== undefined;
  if (isOursUp && !scope.env.DOCKER_HOST) return await ourEngine(scope, order, signal);
  let { engine, unfit } = await findEngine(search, judge);
  if (engine === undefined && order.install && !scope.env.DOCKER_HOST) {
    await installEngine({ env: scope.env, onProgress: scope.onProgress, signal });
    // The package that was installed may have started an engine on this host.
    ({ engine, unfit } = await findEngine(search, judge));
    if (engine === undefined) return await ourEngine(scope, order, signal);
  }
  if (engine !== undefined) return { ...engine, isOurs: isOursUp && engine.socketPath === ours.socketPath };
  throw engineError({
    attempt: "run machines",
    state: "no Docker engine is suitable",
    details: unfit,
    cure: scope.env.DOCKER_HOST ? "name another engine in DOCKER_HOST, or unset it" : await howToGetEngine(),
  });
}

/** Returns Ostler's own engine: the one that other runs use, or a new one. */
async function ourEngine(scope: RunScope, { directory }: KeeperOrder, signal: AbortSignal): Promise<ChosenEngine> {
  const folders = engineFolders(scope.state, directory);
  const { socketPath } = folders;
  await record(scope, { socketPath, engineDirectory: directory });
  if (await daemonOf(folders) === undefined) {
    scope.onProgress(`starting a Docker engine in "${directory}"`);
    await scope.hostSettings.save();
    await stopEngine(folders, scope.env);
    await startEngine(folders, scope.env, signal);
  }
  const fitness = await judgeEngine(new DockerApi(socketPath), scope.labels);
  if (fitness.unfit === undefined) return { ...fitness, socketPath, isOurs: true };
  throw engineError({
    attempt: "run machines",
    state: `the started Docker engine is not suitable: ${fitness.unfit}`,
    details: [`see its log "${folders.logPath}"`],
  });
}

async function record(scope: RunScope, held: { socketPath?: string; engineDirectory?: string }): Promise<void> {
  await scope.records.write({ runId: scope.runId, owner: scope.owner, ...held });
}

/** Sockets on which an engine may listen, in the order of the checks. */
interface EngineSearch {
  readonly socketPaths: readonly string[];
  /** The value of DOCKER_HOST and why it cannot be used; undefined if it can be used or is not set. */
  readonly refused?: string;
}

/** An engine that can run machines. */
interface FoundEngine extends Fitness {
  readonly socketPath: string;
}

/**
 * The result of a search: the first suitable engine, if any, and one line with the reason for each unsuitable engine
 * that was checked.
 */
interface SearchResult {
  readonly engine: FoundEngine | undefined;
  readonly unfit: readonly string[];
}

/**
 * Returns the standard sockets of engines; if DOCKER_HOST is set, returns only its socket, or why it cannot be used.
 */
export function engineSearch({ DOCKER_HOST: host, XDG_RUNTIME_DIR: runtime, HOME: home }: Environment): EngineSearch {
  if (host?.startsWith("unix://")) return { socketPaths: [host.slice("unix://".length)] };
  if (host) {
    const reason = "machines need an engine on this host that listens on a unix socket";
    return { socketPaths: [], refused: `DOCKER_HOST "${host}": ${reason}` };
  }
  return {
    socketPaths: [
      "/var/run/docker.sock",
      ...(runtime ? [join(runtime, "docker.sock")] : []),
      ...(home ? [join(home, ".docker", "run", "docker.sock")] : []),
    ],
  };
}

/**
 * Returns the first engine of the search that can run machines, and why each engine before it cannot; no engine if none
 * can.
 */
export async function findEngine(
  { socketPaths, refused }: EngineSearch,
  judge: (socketPath: string) => Promise<Fitness>,
): Promise<SearchResult> {
  const unfit = refused === undefined ? [] : [refused];
  for (const socketPath of socketPaths) {
    const fitness = await judge(socketPath);
    if (fitness.unfit === undefined) return { engine: { ...fitness, socketPath }, unfit };
    unfit.push(`"unix://${socketPath}": ${fitness.unfit}`);
  }
  return { engine: undefined, unfit };
}

const readyMs = 60_000;

/**
 * Starts an engine, which runs until `stopEngine`, even after the end of this process; throws with the end of its log
 * if it fails to start.
 */
async function startEngine(folders: EngineFolders, env: Environment, signal: AbortSignal): Promise<void> {
  await Deno.mkdir(folders.dataRoot, { recursive: true, mode: 0o700 });
  // If this record of networks remains, a daemon that is configured with an address pool removes bridge "docker0", even
  // if the bridge belongs to another engine.
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
  const answers = waitUntil(probe, { what: "dockerd to respond", timeoutMs: readyMs, signal });
  await Promise.race([answers, gone]).catch(async (error: unknown) => {
    // If the daemon ended first, the wait for its response is rejected later, and that must not end this process.
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

/** Starts the daemon; rejects when the daemon ends, and never resolves. */
function spawnDaemon(folders: EngineFolders, env: Environment): Promise<never> {
  const log = openSync(folders.logPath, "w", 0o600);
  const daemon = spawn("dockerd", daemonArguments(folders), {
    // A session of its own keeps the daemon running after Ctrl-C or the end of this process, until its containers are
    // gone.
    detached: true,
    stdio: ["ignore", log, log],
    env: definedVariables(env),
    cwd: "/",
  });
  closeSync(log);
  daemon.unref();
  const gone = new Promise<never>((_, reject) => {
    daemon.once("error", reject);
    daemon.once("exit", (code, name) => reject(new Error(`dockerd ended with ${name ?? `exit code ${code}`}`)));
  });
  gone.catch(() => {});
  return gone;
}
