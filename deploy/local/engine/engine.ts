import { resolve } from "node:path";
import { engineError } from "./engine_error.ts";
import { KeeperLink } from "./keeper_link.ts";
import type { OpenedRun } from "./keeper_messages.ts";
import type { MachineNetwork } from "./machine_network.ts";

/** Options to open an engine. */
export interface EngineOptions {
  /**
   * Whether to install an engine from Debian packages and start it, as root, if no engine is found that can run
   * machines.
   */
  readonly install: boolean;
  /**
   * Folder in which a started engine keeps images between runs; see `engineDirectory`. Runs with the same folder share
   * the engine.
   */
  readonly directory: string;
  /** Called with each progress line, without line end. */
  readonly onProgress?: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** A Docker engine that can run machines, opened for one run of a demo or a test. */
export interface Engine {
  /** Value for DOCKER_HOST, such as unix:///var/run/docker.sock. */
  readonly socket: string;
  /**
   * Whether Ostler started the engine for its runs, and stops it after the last of them; otherwise the engine existed
   * before, and keeps running.
   */
  readonly isOurs: boolean;
  readonly version: string;
  /** The run's own network, which machines join, and whose gateway is the address of this host. */
  readonly network: MachineNetwork;
  /**
   * Returns the labels that each container, network and volume of this run must have, so that they can be found and
   * removed at its end.
   */
  runLabels(): Record<string, string>;
  /**
   * Removes all objects with the run's labels. If no other run needs them, also stops the engine that Ostler started,
   * and restores this host's settings. Rejects with the steps that failed.
   */
  stop(): Promise<void>;
}

/**
 * Opens an engine for one run: an existing one or, if none can run machines and `install` is set, one that it installs
 * and starts. The objects of the run are removed by `stop`, or, if this process ends without `stop`, within seconds
 * after its end. Throws an EngineError that lists all checked sockets and the cure, or an aborted signal's reason after
 * the cleanup.
 *
 * `aimTestcontainers` makes testcontainers use the engine, through DOCKER_HOST. While DOCKER_HOST is set, no other
 * engine is checked, so dispose of the result of `aimTestcontainers` before another engine is opened.
 */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { install, onProgress = () => {}, signal } = options;
  signal?.throwIfAborted();
  refuseOtherSystems();
  const order = { install, directory: resolve(options.directory) };
  const keeper = new KeeperLink(order, onProgress);
  const abort = (): void => void keeper.end().catch(() => {});
  signal?.addEventListener("abort", abort, { once: true });
  try {
    const run = await keeper.opened;
    keeper.unref();
    return asEngine(run, () => keeper.end());
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

function asEngine(run: OpenedRun, end: () => Promise<void>): Engine {
  let ended: Promise<void> | undefined;
  return {
    socket: `unix://${run.socketPath}`,
    isOurs: run.isOurs,
    version: run.version,
    network: run.network,
    runLabels: () => ({ ...run.labels }),
    stop: () => ended ??= end(),
  };
}

function refuseOtherSystems(): void {
  if (Deno.build.os === "linux") return;
  throw engineError({
    attempt: "run machines",
    state:
      `on "${Deno.build.os}", a Docker engine runs in a virtual machine, in whose networks this host has no address`,
    cure: "use a Linux host",
  });
}
