import type { Recipe } from "../recipe.ts";

/** The Temporal CLI with its server and web UI inside. */
export const temporal: Recipe = {
  name: "temporal",
  packages: { temporal: "github.com/temporalio/cli/cmd/temporal" },
  ldflags: "-s -w -X github.com/temporalio/cli/temporalcli.Version=1.5.1",
  requires: ["github.com/temporalio/cli v1.5.1"],
  replaces: [],
};
