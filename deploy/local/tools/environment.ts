import { join, resolve } from "node:path";

/** Environment variables with which tools are found and built. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns whether a path is an executable file. */
export async function isExecutable(path: string): Promise<boolean> {
  try {
    const { isFile, mode } = await Deno.stat(path);
    return isFile && (mode === null || (mode & 0o111) !== 0);
  } catch {
    return false;
  }
}

/** Returns the absolute paths of a program on PATH, in the order of PATH. */
export async function findOnPath(program: string, env: Environment): Promise<string[]> {
  const candidates = (env.PATH ?? "").split(":").filter((folder) => folder !== "")
    .map((folder) => resolve(folder, program));
  const isOffered = await Promise.all(candidates.map(isExecutable));
  return [...new Set(candidates.filter((_, index) => isOffered[index]))];
}

/**
 * Returns the cache folder of built tools according to the XDG Base Directory Specification; undefined if neither an
 * absolute XDG_CACHE_HOME nor HOME is set.
 */
export function cacheFolder(env: Environment): string | undefined {
  const { XDG_CACHE_HOME: cache, HOME: home } = env;
  // The specification requires that a relative XDG_CACHE_HOME is ignored.
  if (cache?.startsWith("/")) return join(cache, "ostler", "tools");
  return home ? join(home, ".cache", "ostler", "tools") : undefined;
}

/** Returns the environment without undefined variables. */
export function definedVariables(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
