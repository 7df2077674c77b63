/** The bundle of the workflows, built in advance because bundling costs a worker seconds, and memory permanently. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { keptBundle, root } from "./kept_bundle.ts";

const permissions = ["--allow-read", "--allow-write", "--allow-env", "--allow-sys", "--allow-ffi"];

/** Returns the path of the bundle; undefined if neither XDG_CACHE_HOME nor HOME names a folder for the cache. */
export async function workflowBundle(signal?: AbortSignal): Promise<string | undefined> {
  const names = await readdir(join(root, "workflows"), { recursive: true });
  const files = names.filter((name) => name.endsWith(".ts")).map((name) => join("workflows", name)).sort();
  return await keptBundle({
    name: "workflow-bundle",
    file: "workflow_bundle.js",
    sources: [...files, "workers/bundle.ts"],
    make: (path) => ["run", "--no-prompt", "--cached-only", ...permissions, "workers/bundle.ts", path],
  }, signal);
}
