import { closeDeadRuns } from "./close_run.ts";
import { daemonOf } from "./daemon_processes.ts";
import { DockerApi } from "./docker_api.ts";
import { type Fitness, judgeEngine } from "./engine_fitness.ts";
import { engineError, reasonOf } from "./engine_error.ts";
import { engineFolders } from "./engine_folders.ts";
import { engineSearch, findEngine, type FoundEngine } from "./find_engine.ts";
import { howToGetEngine, installEngine } from "./install_engine.ts";
import type { KeeperOrder, OpenedRun } from "./keeper_messages.ts";
import { createMachineNetwork } from "./machine_network.ts";
import { alone, type RunScope } from "./run_scope.ts";
import { startEngine } from "./start_engine.ts";
import { stopEngine } from "./stop_engine.ts";
import { sweepDeadRuns } from "./sweep.ts";

interface ChosenEngine extends FoundEngine {
  readonly isOurs: boolean;
}

/** Finds or makes an engine and a network for this run; whatever it holds when it throws, `closeRun` lets go of. */
export async function openRun(scope: RunScope, order: KeeperOrder, signal: AbortSignal): Promise<OpenedRun> {
  return await alone(scope, signal, async () => {
    // What cannot be cleaned up after another run does not keep this one from running.
    const tell = (error: unknown): void => scope.onProgress(reasonOf(error));
    await closeDeadRuns(scope).catch(tell);
    await record(scope, {});
    const { socketPath, isOurs, version, driver } = await chooseEngine(scope, order, signal);
    await record(scope, { socketPath, ...(isOurs ? { engineDirectory: order.directory } : {}) });
    scope.onProgress(
      `Docker engine ${version} (${driver}) at "unix://${socketPath}"${isOurs ? ", started for us" : ""}`,
    );
    // Also before an engine of ours starts; here for one that was found.
    await scope.hostSettings.save();
    const api = new DockerApi(socketPath);
    const swept = await sweepDeadRuns(api).catch((error: unknown) => (tell(error), []));
    for (const runId of swept) scope.onProgress(`removed what run ${runId} left behind`);
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
  if (isOursUp && scope.env.DOCKER_HOST === undefined) return await ourEngine(scope, order, signal);
  let { engine, unfit } = await findEngine(search, judge);
  if (engine === undefined && order.install && !scope.env.DOCKER_HOST) {
    await installEngine({ env: scope.env, onProgress: scope.onProgress, signal });
    // The package may have started an engine of the host.
    ({ engine, unfit } = await findEngine(search, judge));
    if (engine === undefined) return await ourEngine(scope, order, signal);
  }
  if (engine !== undefined) return { ...engine, isOurs: isOursUp && engine.socketPath === ours.socketPath };
  throw engineError({
    attempt: "run machines",
    state: "no Docker engine is there that can",
    details: unfit,
    cure: scope.env.DOCKER_HOST ? "name another one in DOCKER_HOST, or unset it" : await howToGetEngine(),
  });
}

/** The engine of ours: the one that other runs use, else a new one. */
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
    state: `the Docker engine that was started for them cannot: ${fitness.unfit}`,
    details: [`its log is "${folders.logPath}"`],
  });
}

async function record(scope: RunScope, held: { socketPath?: string; engineDirectory?: string }): Promise<void> {
  await scope.records.write({ runId: scope.runId, owner: scope.owner, ...held });
}
