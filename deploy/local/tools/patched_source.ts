import { dirname, join } from "node:path";
import { type Go, runGo } from "./go_command.ts";
import type { PatchedSource } from "./recipe.ts";
import { provideCure, ToolError } from "./tool_error.ts";

/** Lays a module's changed source out under `workDir` and returns its folder; throws ToolError. */
export async function prepareSource(go: Go, source: PatchedSource, workDir: string): Promise<string> {
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
    state: `go mod download names no folder for "${module}"`,
    cure: provideCure(go.tools),
  });
}

/** Copies bytes only: the module cache is read-only, and its modes would make the copy so too. */
async function copyTree(from: string, to: string): Promise<void> {
  if ((await Deno.stat(from)).isFile) {
    await Deno.mkdir(dirname(to), { recursive: true });
    return await Deno.writeFile(to, await Deno.readFile(from));
  }
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) await copyTree(join(from, name), join(to, name));
}
