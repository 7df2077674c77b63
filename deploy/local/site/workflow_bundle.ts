/** The bundle of our workflows, made once for each version of them: bundling takes a worker seconds, and memory for good. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { cacheFolder, definedVariables } from "../tools/environment.ts";
import { runCommand } from "../tools/run_command.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

const permissions = ["--allow-read", "--allow-write", "--allow-env", "--allow-sys", "--allow-ffi"];

/** Finds the bundle among the tools, or makes it there; gives its path, or undefined without a home. Throws with the last lines of what made it. */
export async function workflowBundle(signal?: AbortSignal): Promise<string | undefined> {
  const tools = cacheFolder(process.env);
  if (tools === undefined) return undefined;
  const path = join(tools, "workflow-bundle", await digestOfWorkflows(), "workflow_bundle.js");
  if (existsSync(path)) return path;
  // Renamed into place when it is whole: whoever makes it at the same time makes the same.
  const unfinished = `${path}.${process.pid}`;
  await mkdir(dirname(path), { recursive: true });
  const { code, lines } = await runCommand({
    program: process.execPath,
    args: ["run", "--no-prompt", "--cached-only", ...permissions, "workers/bundle.ts", unfinished],
    env: definedVariables(process.env),
    cwd: root,
    ...(signal && { signal }),
  });
  if (code !== 0) throw new Error(`Cannot bundle the workflows: exit code ${code}, ${lines.slice(-5).join("; ")}`);
  await rename(unfinished, path);
  return path;
}

/** Of all that a bundle is made from: our files, and the packages by their versions. */
async function digestOfWorkflows(): Promise<string> {
  const names = await readdir(join(root, "workflows"), { recursive: true });
  const files = names.filter((name) => name.endsWith(".ts")).map((name) => join("workflows", name)).sort();
  const hash = createHash("sha256");
  for (const file of [...files, "workers/bundle.ts", "package.json", "deno.lock"]) {
    hash.update(`${file}\0`).update(await readFile(join(root, file))).update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}
