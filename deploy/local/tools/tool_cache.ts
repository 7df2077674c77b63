import { join } from "node:path";
import { takeBuildLock } from "./build_lock.ts";
import { isExecutable } from "./environment.ts";
import { type Recipe, recipeDigest } from "./recipe.ts";
import type { ToolName } from "./tool_name.ts";

/** The tools to build; the build writes `<workDir>/bin/<tool>` for each, or throws. */
export interface BuildOrder {
  readonly recipe: Recipe;
  readonly tools: readonly ToolName[];
  /** An empty folder, which is removed after the build. */
  readonly workDir: string;
}

/** A folder of built tools, each stored under the digest of its recipe. */
interface ToolCache {
  readonly folder: string;
  readonly build: (order: BuildOrder) => Promise<void>;
  readonly onWait: (tools: readonly ToolName[], holder: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Returns the path of a tool in the cache, whether or not it exists. */
export function cachedPath(folder: string, recipe: Recipe, tool: ToolName): string {
  return join(folder, tool, recipeDigest(recipe, tool), tool);
}

/** Returns the tools of a recipe that are missing in the cache. */
export async function missingTools(folder: string, recipe: Recipe, tools: readonly ToolName[]): Promise<ToolName[]> {
  const isThere = await Promise.all(tools.map((tool) => isExecutable(cachedPath(folder, recipe, tool))));
  return tools.filter((_, index) => !isThere[index]);
}

/** Builds the missing tools and returns their names; of several concurrent runs, one builds and the others wait. */
export async function fillCache(cache: ToolCache, recipe: Recipe, tools: readonly ToolName[]): Promise<ToolName[]> {
  const { folder, signal, onWait } = cache;
  const workRoot = join(folder, ".work", recipe.name);
  await Deno.mkdir(workRoot, { recursive: true });
  using _lock = await takeBuildLock(join(folder, ".work", `${recipe.name}.lock`), {
    onWait: (holder) => onWait(tools, holder),
    signal,
  });
  const missing = await missingTools(folder, recipe, tools);
  if (missing.length > 0) await buildInto(cache, recipe, { tools: missing, workRoot });
  return missing;
}

async function buildInto(
  cache: ToolCache,
  recipe: Recipe,
  { tools, workRoot }: { tools: readonly ToolName[]; workRoot: string },
): Promise<void> {
  await emptyFolder(workRoot);
  // The folder has a new name in each run, because compilers of a killed run may still write into the old folder.
  const workDir = await Deno.makeTempDir({ dir: workRoot });
  try {
    await cache.build({ recipe, tools, workDir });
    for (const tool of tools) await install(join(workDir, "bin", tool), cachedPath(cache.folder, recipe, tool));
  } finally {
    await Deno.remove(workDir, { recursive: true }).catch(() => {});
  }
}

async function emptyFolder(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) await Deno.remove(join(folder, name), { recursive: true });
}

async function install(made: string, path: string): Promise<void> {
  await Deno.mkdir(join(path, ".."), { recursive: true });
  using file = await Deno.open(made, { read: true, write: true });
  // Without the sync, a power failure could leave an empty file under the final name.
  await file.sync();
  await Deno.rename(made, path);
}
