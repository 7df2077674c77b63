import { join } from "node:path";
import { takeBuildLock } from "./build_lock.ts";
import { isExecutable } from "./environment.ts";
import { type Recipe, recipeDigest } from "./recipe.ts";
import type { ToolName } from "./tool_name.ts";

/** What a build is to make; it leaves `<workDir>/bin/<tool>` for each tool or throws. */
export interface BuildOrder {
  readonly recipe: Recipe;
  readonly tools: readonly ToolName[];
  /** Empty at first and removed afterwards. */
  readonly workDir: string;
}

/** A folder of built tools, each under the digest of its recipe. */
export interface ToolCache {
  readonly folder: string;
  readonly build: (order: BuildOrder) => Promise<void>;
  readonly onWait: (tools: readonly ToolName[], holder: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Returns where a tool is, or will be, kept. */
export function cachedPath(folder: string, recipe: Recipe, tool: ToolName): string {
  return join(folder, tool, recipeDigest(recipe, tool), tool);
}

/** Returns those tools of a recipe that the cache does not hold. */
export async function missingTools(folder: string, recipe: Recipe, tools: readonly ToolName[]): Promise<ToolName[]> {
  const isThere = await Promise.all(tools.map((tool) => isExecutable(cachedPath(folder, recipe, tool))));
  return tools.filter((_, index) => !isThere[index]);
}

/** Builds what the cache lacks and returns what it built; of several runs at once, one builds and the others wait. */
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
  // A new name each time: compilers that outlived a killed run may still write into the old one.
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
  // Without this a power cut could leave an empty file under the final name.
  await file.sync();
  await Deno.rename(made, path);
}
