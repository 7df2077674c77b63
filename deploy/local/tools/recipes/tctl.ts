import type { Recipe } from "../recipe.ts";

/** Temporal's older command line; 1.18.4 is not served everywhere. */
export const tctl: Recipe = {
  name: "tctl",
  packages: { tctl: "github.com/temporalio/tctl/cmd/tctl" },
  ldflags: "-s -w",
  requires: ["github.com/temporalio/tctl v1.18.0"],
  replaces: [],
};
