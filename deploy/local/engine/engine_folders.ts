import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { cacheFolder, type Environment } from "../tools/environment.ts";

/** Where everything of one engine of ours lies. */
export interface EngineFolders {
  /** Eight hexadecimal digits that stand for `directory`; part of the names of everything the engine leaves outside. */
  readonly id: string;
  /** Kept between runs: images, the daemon's log, the runtime wrapper. */
  readonly directory: string;
  readonly dataRoot: string;
  readonly logPath: string;
  /** Gone with the engine; short, because the path of a unix socket is at most 107 bytes long. */
  readonly volatile: string;
  readonly socketPath: string;
  readonly configPath: string;
  /** The bridge of containers that name no network. */
  readonly bridge: string;
  readonly cgroup: string;
}

/** The folders of the engine whose images lie in `directory`. */
export function engineFolders(state: string, directory: string): EngineFolders {
  const id = createHash("sha256").update(directory).digest("hex").slice(0, 8);
  const volatile = join(state, "engines", id);
  return {
    id,
    directory,
    dataRoot: join(directory, "data"),
    logPath: join(directory, "dockerd.log"),
    volatile,
    socketPath: join(volatile, "docker.sock"),
    configPath: join(volatile, "daemon.json"),
    bridge: `ostler0${id}`,
    cgroup: `ostler-${id}`,
  };
}

/** Where an engine of ours keeps its images between runs: `$XDG_CACHE_HOME/ostler/docker`; throws without a home. */
export function engineDirectory(env: Environment): string {
  return join(besideTools(env), "docker");
}

/**
 * Where the runs of this machine know of each other: `/run/ostler` for root, whose runs share it whatever their home is,
 * else a folder of the user's cache.
 */
export function stateFolder(env: Environment): string {
  return Deno.uid() === 0 ? "/run/ostler" : join(besideTools(env), "engine");
}

function besideTools(env: Environment): string {
  const tools = cacheFolder(env);
  if (tools === undefined) throw new Error("Cannot find a cache folder: neither HOME nor XDG_CACHE_HOME is set");
  return dirname(tools);
}
