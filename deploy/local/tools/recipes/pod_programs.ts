import type { Recipe } from "../recipe.ts";

function ourOwn(tool: "pause" | "pod-server", file: string): Recipe {
  const source = Deno.readTextFileSync(new URL(`./pod_programs/${file}`, import.meta.url));
  return {
    name: tool,
    packages: { [tool]: "." },
    ldflags: "-s -w",
    requires: [],
    replaces: [],
    files: { "main.go": source },
    target: "linux",
  };
}

/** What holds a pod's sandbox open. */
export const pause: Recipe = ourOwn("pause", "pause.go");

/** A web server for pods that takes its leave without a failed request. */
export const podServer: Recipe = ourOwn("pod-server", "pod_server.go");
