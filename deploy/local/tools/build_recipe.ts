import { basename, dirname, join } from "node:path";
import type { Environment } from "./environment.ts";
import { findGo, type Go, runGo } from "./go_command.ts";
import { prepareSource } from "./patched_source.ts";
import { type Recipe, wrapperModule } from "./recipe.ts";
import type { BuildOrder } from "./tool_cache.ts";
import type { ToolName } from "./tool_name.ts";

/** Where a build runs and who hears of it. */
export interface BuildSurroundings {
  readonly env: Environment;
  readonly signal?: AbortSignal | undefined;
  /** Called with each line that go prints. */
  readonly onLine: (line: string) => void;
}

/** Builds tools through the user's Go and its module proxy; throws ToolError. */
export async function buildRecipe(order: BuildOrder, surroundings: BuildSurroundings): Promise<void> {
  const { recipe, tools, workDir } = order;
  await writeFiles(workDir, { "go.mod": wrapperModule(recipe), ...recipe.files });
  const go = await findGo({ ...surroundings, tools }, workDir);
  const cwd = recipe.source ? await prepareSource(go, recipe.source, workDir) : workDir;
  await compile(go, recipe, { tools, cwd, bin: join(workDir, "bin") });
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(dirname(join(folder, path)), { recursive: true });
    await Deno.writeTextFile(join(folder, path), text);
  }
}

async function compile(
  go: Go,
  recipe: Recipe,
  { tools, cwd, bin }: { tools: readonly ToolName[]; cwd: string; bin: string },
): Promise<void> {
  await Deno.mkdir(bin);
  const [first] = tools;
  // Of several packages each binary is named by its package, which a single one need not be.
  const output = tools.length === 1 && first ? join(bin, first) : `${bin}/`;
  const packages = tools.map((tool) => recipe.packages[tool]).filter((path) => path !== undefined);
  const tags = recipe.tags ? ["-tags", recipe.tags.join(",")] : [];
  const flags = ["-mod=mod", "-buildvcs=false", "-trimpath", "-v", ...tags, "-ldflags", recipe.ldflags, "-o", output];
  const { target, isPartlyC } = recipe;
  await runGo(go, { step: "compile", args: ["build", ...flags, ...packages], cwd, target, isPartlyC });
  if (tools.length > 1) await nameAsTools(recipe, tools, bin);
}

async function nameAsTools(recipe: Recipe, tools: readonly ToolName[], bin: string): Promise<void> {
  for (const tool of tools) await Deno.rename(join(bin, basename(recipe.packages[tool] ?? tool)), join(bin, tool));
}
