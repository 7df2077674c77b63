import { basename, dirname, join } from "node:path";
import type { Environment } from "./environment.ts";
import { findGo, type Go, runGo } from "./go_command.ts";
import { type PatchedSource, type Recipe, wrapperModule } from "./recipe.ts";
import type { BuildOrder } from "./tool_cache.ts";
import type { ToolName } from "./tool_name.ts";
import { provideCure, ToolError } from "./tool_error.ts";

/** Environment, cancellation and listener of a build. */
export interface BuildSurroundings {
  readonly env: Environment;
  readonly signal?: AbortSignal | undefined;
  /** Called with each line that go prints. */
  readonly onLine: (line: string) => void;
}

/** Builds tools with the user's Go and its module proxy; throws ToolError. */
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
  // With several packages, Go names each binary after its package; a single binary can have any name.
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

/** Writes a module's patched source into `workDir` and returns its folder; throws ToolError. */
async function prepareSource(go: Go, source: PatchedSource, workDir: string): Promise<string> {
  const origin = await download(go, source.module, workDir);
  const target = join(workDir, "source");
  for (const name of source.keep) await copyTree(join(origin, name), join(target, name));
  for (const name of source.drop) await Deno.remove(join(target, name), { recursive: true });
  for (const [name, text] of Object.entries(source.write)) await Deno.writeTextFile(join(target, name), text);
  if (source.modEdits.length > 0) {
    await runGo(go, { step: "change go.mod", args: ["mod", "edit", ...source.modEdits], cwd: target });
  }
  return target;
}

async function download(go: Go, module: string, cwd: string): Promise<string> {
  const step = "download source";
  const { stdout } = await runGo(go, { step, args: ["mod", "download", "-json", module], cwd });
  const { Dir: folder }: { Dir?: unknown } = JSON.parse(stdout);
  if (typeof folder === "string") return folder;
  throw new ToolError({
    attempt: "build",
    tools: go.tools,
    step,
    state: `go mod download returned no folder for "${module}"`,
    cure: provideCure(go.tools),
  });
}

/** Copies content without modes, because the module cache is read-only and the copy must be writable. */
async function copyTree(from: string, to: string): Promise<void> {
  if ((await Deno.stat(from)).isFile) {
    await Deno.mkdir(dirname(to), { recursive: true });
    return await Deno.writeFile(to, await Deno.readFile(from));
  }
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) await copyTree(join(from, name), join(to, name));
}
