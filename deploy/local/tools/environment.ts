import { join, resolve } from "node:path";

/** The environment in which tools are looked for and made. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Says whether a path is a file that may be run. */
export async function isExecutable(path: string): Promise<boolean> {
  try {
    const { isFile, mode } = await Deno.stat(path);
    return isFile && (mode === null || (mode & 0o111) !== 0);
  } catch {
    return false;
  }
}

/** Returns the absolute paths under which PATH offers a program, first choice first. */
export async function findOnPath(program: string, env: Environment): Promise<string[]> {
  const candidates = (env.PATH ?? "").split(":").filter((folder) => folder !== "")
    .map((folder) => resolve(folder, program));
  const isOffered = await Promise.all(candidates.map(isExecutable));
  return [...new Set(candidates.filter((_, index) => isOffered[index]))];
}

/** Returns the folder that keeps built tools, after the XDG base directory specification; undefined without a home. */
export function cacheFolder(env: Environment): string | undefined {
  const { XDG_CACHE_HOME: cache, HOME: home } = env;
  // The specification has a relative XDG_CACHE_HOME ignored.
  if (cache?.startsWith("/")) return join(cache, "ostler", "tools");
  return home ? join(home, ".cache", "ostler", "tools") : undefined;
}

/** Returns the environment without the variables that are not set. */
export function definedVariables(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
