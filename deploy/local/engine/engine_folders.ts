import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { cacheFolder, type Environment } from "../tools/environment.ts";

/** The folders of one engine that Ostler starts. */
export interface EngineFolders {
  /**
   * Eight hexadecimal digits that identify `directory`; part of the names of everything that the engine creates
   * elsewhere.
   */
  readonly id: string;
  /** Folder that is kept between runs: images, the daemon's log, the runtime wrapper. */
  readonly directory: string;
  readonly dataRoot: string;
  readonly logPath: string;
  /** Folder that is removed with the engine; its path is short, because a unix socket's path has at most 107 bytes. */
  readonly volatile: string;
  readonly socketPath: string;
  readonly configPath: string;
  /** The bridge of containers without a named network. */
  readonly bridge: string;
  readonly cgroup: string;
}

/** Returns the folders of the engine that keeps its images in `directory`. */
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

/**
 * Returns the folder in which an engine keeps images between runs: `$XDG_CACHE_HOME/ostler/docker`; throws if neither
 * XDG_CACHE_HOME nor HOME is set.
 */
export function engineDirectory(env: Environment): string {
  return join(besideTools(env), "docker");
}

/**
 * Returns the folder in which the runs of this host are recorded: `/run/ostler` for root, whose runs all share it
 * regardless of HOME, otherwise a folder in the user's cache.
 */
export function stateFolder(env: Environment): string {
  return Deno.uid() === 0 ? "/run/ostler" : join(besideTools(env), "engine");
}

function besideTools(env: Environment): string {
  const tools = cacheFolder(env);
  if (tools === undefined) {
    throw new Error("Failed to find a cache folder: neither HOME nor XDG_CACHE_HOME is set; set one");
  }
  return dirname(tools);
}
