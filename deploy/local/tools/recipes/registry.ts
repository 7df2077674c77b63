import type { Recipe } from "../recipe.ts";

/** The registry of the Distribution project, with storage in a folder. */
export const registry: Recipe = {
  name: "registry",
  packages: { registry: "github.com/distribution/distribution/v3/cmd/registry" },
  ldflags: "-s -w -X github.com/distribution/distribution/v3/version.version=v3.1.2",
  requires: ["github.com/distribution/distribution/v3 v3.1.2"],
  replaces: [],
};
