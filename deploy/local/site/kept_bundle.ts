/** Bundles that are built once for each version of their sources, and kept in the tool cache. */
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { cacheFolder, definedVariables } from "../tools/environment.ts";
import { runCommand } from "../tools/run_command.ts";

export const root = fileURLToPath(new URL("../../../", import.meta.url));

export interface Bundle {
  /** Name of the bundle's folder, also used in messages. */
  name: string;
  file: string;
  /**
   * Source files, relative to the project. A change of a source file, or of the version of a package, results in
   * another bundle.
   */
  sources: readonly string[];
  /** Returns the arguments with which Deno builds the bundle at a path. */
  make(path: string): string[];
}

/**
 * Finds a bundle in the tool cache, or builds it there; returns its path, or undefined if neither XDG_CACHE_HOME nor
 * HOME names a folder for the cache. Throws with the last lines of a failed build.
 */
export async function keptBundle(bundle: Bundle, signal?: AbortSignal): Promise<string | undefined> {
  const tools = cacheFolder(process.env);
  if (tools === undefined) return undefined;
  const path = join(tools, bundle.name, await digestOf(bundle.sources), bundle.file);
  if (existsSync(path)) return path;
  // The file gets its final name only when it is complete, so that no process loads a partial bundle. A concurrent
  // build has the same result, so it does not matter which of the two files replaces the other.
  const unfinished = join(dirname(path), `${randomUUID()}-${bundle.file}`);
  await mkdir(dirname(path), { recursive: true });
  const { code, lines } = await runCommand({
    program: process.execPath,
    args: bundle.make(unfinished),
    env: definedVariables(process.env),
    cwd: root,
    ...(signal && { signal }),
  });
  if (code !== 0) {
    throw new Error(`Failed to build the ${bundle.name}: exit code ${code}, ${lines.slice(-5).join("; ")}`);
  }
  await rename(unfinished, path);
  return path;
}

async function digestOf(sources: readonly string[]): Promise<string> {
  const hash = createHash("sha256").update(`${Deno.version.deno}\0`);
  for (const file of [...sources, "package.json", "deno.lock"]) {
    hash.update(`${file}\0`).update(await readFile(join(root, file))).update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}
