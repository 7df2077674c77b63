import { buildRecipe, type BuildSurroundings } from "./build_recipe.ts";
import { LockTimeout } from "./build_lock.ts";
import { cacheFolder, type Environment } from "./environment.ts";
import { findTool } from "./find_tool.ts";
import { type Report, startReport, throttleLines, type ToolProgress } from "./progress.ts";
import type { Recipe } from "./recipe.ts";
import { recipes } from "./recipes/catalogue.ts";
import { type BuildOrder, cachedPath, fillCache, missingTools } from "./tool_cache.ts";
import { provideCure, ToolError } from "./tool_error.ts";
import type { ToolName } from "./tool_name.ts";

/** Options to find tools; all are optional. */
export interface ResolveOptions {
  readonly onProgress?: (progress: ToolProgress) => void;
  /** Environment variables; by default those of this process. */
  readonly env?: Environment;
  /** Kills a running build; resolving then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Builds tools in place of `buildRecipe`, which uses Go. */
  readonly build?: (order: BuildOrder, surroundings: BuildSurroundings) => Promise<void>;
}

interface Resolving {
  readonly env: Environment;
  readonly signal: AbortSignal | undefined;
  readonly report: Report;
  readonly build: (order: BuildOrder, surroundings: BuildSurroundings) => Promise<void>;
  /** Why provided binaries of a tool were not accepted, as a suffix for progress lines. */
  readonly passedOver: Partial<Record<ToolName, string>>;
}

type Paths = Partial<Record<ToolName, string>>;

/** Finds or builds each named tool and returns its absolute path; throws ToolError, which names tool, step and cure. */
export async function resolveTools<Name extends ToolName>(
  names: readonly Name[],
  options: ResolveOptions = {},
): Promise<Record<Name, string>> {
  const { env = Deno.env.toObject(), signal, build = buildRecipe, onProgress = () => {} } = options;
  const resolving = { env, signal, build, report: startReport(onProgress), passedOver: {} };
  const tools = [...new Set(names)];
  const paths: Paths = await findProvided(tools, resolving);
  const missing = tools.filter((tool) => paths[tool] === undefined);
  for (const recipe of new Set(missing.map((tool) => recipes[tool]))) {
    const ofRecipe = missing.filter((tool) => recipes[tool] === recipe);
    Object.assign(paths, await fromCache(recipe, ofRecipe, resolving));
  }
  return paths as Record<Name, string>;
}

async function findProvided(tools: readonly ToolName[], resolving: Resolving): Promise<Paths> {
  const findings = await Promise.all(tools.map((tool) => findTool(tool, resolving)));
  const paths: Paths = {};
  tools.forEach((tool, index) => {
    const { path, detail = "" } = findings[index] ?? {};
    if (path === undefined) return void (resolving.passedOver[tool] = detail && ` (passed over: ${detail})`);
    paths[tool] = path;
    resolving.report([tool], "found", detail);
  });
  return paths;
}

async function fromCache(recipe: Recipe, tools: readonly ToolName[], resolving: Resolving): Promise<Paths> {
  const { env, report, passedOver } = resolving;
  const folder = cacheFolder(env) ?? throwNoCache(tools);
  const absent = await missingTools(folder, recipe, tools);
  const built = absent.length === 0 ? [] : await makeTools(recipe, absent, { ...resolving, folder });
  const paths: Paths = {};
  for (const tool of tools) {
    const path = paths[tool] = cachedPath(folder, recipe, tool);
    report([tool], built.includes(tool) ? "built" : "found", `in the cache: ${path}${passedOver[tool] ?? ""}`);
  }
  return paths;
}

async function makeTools(
  recipe: Recipe,
  tools: readonly ToolName[],
  { env, signal, report, build, folder, passedOver }: Resolving & { folder: string },
): Promise<ToolName[]> {
  const buildAndTell = (order: BuildOrder) => {
    for (const tool of order.tools) report([tool], "building", `with Go${passedOver[tool] ?? ""}`);
    const onLine = throttleLines((line) => report(order.tools, "building", line));
    return build(order, { env, signal, onLine });
  };
  const onWait = (waiting: readonly ToolName[], holder: string) =>
    report(waiting, "waiting", `${holder} is building ${recipe.name}`);
  try {
    return await fillCache({ folder, build: buildAndTell, onWait, signal }, recipe, tools);
  } catch (cause) {
    signal?.throwIfAborted();
    throw cause instanceof ToolError ? cause : cacheFailed(tools, folder, cause);
  }
}

function cacheFailed(tools: readonly ToolName[], folder: string, cause: unknown): ToolError {
  const isLocked = cause instanceof LockTimeout;
  const cure = isLocked ? "stop that process" : "make the folder writable, or set XDG_CACHE_HOME to a writable one";
  return new ToolError({
    attempt: "build",
    tools,
    step: isLocked ? "wait for the other run" : `write to "${folder}"`,
    state: cause instanceof Error ? cause.message : String(cause),
    cure: `${cure}; or ${provideCure(tools)}`,
    cause,
  });
}

function throwNoCache(tools: readonly ToolName[]): never {
  throw new ToolError({
    attempt: "build",
    tools,
    step: "find the cache folder",
    state: "neither HOME nor an absolute XDG_CACHE_HOME is set",
    cure: `set XDG_CACHE_HOME; or ${provideCure(tools)}`,
  });
}
