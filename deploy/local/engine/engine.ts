import { resolve } from "node:path";
import { engineError } from "./engine_error.ts";
import { KeeperLink } from "./keeper_link.ts";
import type { OpenedRun } from "./keeper_messages.ts";
import type { MachineNetwork } from "./machine_network.ts";

/** What is wanted of an engine, and who listens. */
export interface EngineOptions {
  /** Where no engine is found that can run machines: install one from Debian's packages and start it, as root. */
  readonly install: boolean;
  /** Where an engine of ours keeps its images between runs; see `engineDirectory`. Runs of the same directory share it. */
  readonly directory: string;
  /** One line each, without its end. */
  readonly onProgress?: (text: string) => void;
  readonly signal?: AbortSignal;
}

/** A Docker engine that can run machines, open for one run. */
export interface Engine {
  /** For DOCKER_HOST, such as unix:///var/run/docker.sock. */
  readonly socket: string;
  /** Started for Ostler's runs, and stopped when the last of them is over; else found. */
  readonly isOurs: boolean;
  readonly version: string;
  /** The run's own network: machines join it, and reach this host under its gateway. */
  readonly network: MachineNetwork;
  /** Labels that each container, network and volume of this run must carry; by them they are removed at its end. */
  runLabels(): Record<string, string>;
  /** Removes all that carries the run's labels, and puts this host back as it was; rejects with what remains. */
  stop(): Promise<void>;
}

/**
 * Opens an engine for one run: found, or installed and started when told. What the run leaves behind goes at `stop`, and
 * within seconds after this process ended without it, however it ended. Throws an EngineError that lists every place that
 * was looked at and says how to get an engine; an aborted signal's reason, once all is cleaned up.
 *
 * Whoever uses testcontainers sets DOCKER_HOST to `socket` and TESTCONTAINERS_RYUK_DISABLED to "true" before its first
 * use, and unsets DOCKER_HOST after `stop`: an engine that is named there is the only one that is asked.
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
      `on "${Deno.build.os}" a Docker engine runs in a virtual machine, whose networks this host has no address in`,
    cure: "use a Linux host",
  });
}
