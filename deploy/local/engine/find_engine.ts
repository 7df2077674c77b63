import { join } from "node:path";
import type { Environment } from "../tools/environment.ts";
import type { Fitness } from "./engine_fitness.ts";

/** Sockets on which an engine may answer, in the order in which they are asked. */
export interface EngineSearch {
  readonly socketPaths: readonly string[];
  /** A place that was named but cannot be asked, with the reason. */
  readonly refused?: string;
}

/** An engine that can run machines. */
export interface FoundEngine extends Fitness {
  readonly socketPath: string;
}

/** What a search came to: an engine, or one line for each place that was looked at. */
export interface SearchResult {
  readonly engine: FoundEngine | undefined;
  readonly unfit: readonly string[];
}

/** DOCKER_HOST alone where it is set, else the sockets that engines usually listen on. */
export function engineSearch({ DOCKER_HOST: host, XDG_RUNTIME_DIR: runtime, HOME: home }: Environment): EngineSearch {
  if (host?.startsWith("unix://")) return { socketPaths: [host.slice("unix://".length)] };
  if (host) {
    const reason = "machines need an engine on this host, which listens on a unix socket";
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

/** Returns the first engine of the search that can run machines. */
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
