/** A bundle of those parts of the Kubernetes client that Ostler uses, which is loaded instead of the whole package. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { keptBundle, root } from "./kept_bundle.ts";

const source = "activities/kube/client_node.ts";

/**
 * Returns the Deno flag with which a process loads the bundle instead of the package; no flag if neither XDG_CACHE_HOME
 * nor HOME names a folder for the cache.
 */
export async function slimClient(signal?: AbortSignal): Promise<string[]> {
  const path = await keptBundle({
    name: "client-bundle",
    file: "client_node.js",
    sources: [source],
    make: (path) => ["bundle", "--quiet", "--platform", "deno", "--minify", "--output", path, source],
  }, signal);
  if (path === undefined) return [];
  const imports = { [pathToFileURL(join(root, source)).href]: pathToFileURL(path).href };
  return [`--import-map=data:application/json,${encodeURIComponent(JSON.stringify({ imports }))}`];
}
