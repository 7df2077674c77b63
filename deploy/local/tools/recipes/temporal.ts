import type { Recipe } from "../recipe.ts";

/** The Temporal CLI with its server and web UI inside. */
export const temporal: Recipe = {
  name: "temporal",
  packages: { temporal: "github.com/temporalio/cli/cmd/temporal" },
  ldflags: "-s -w -X github.com/temporalio/cli/temporalcli.Version=1.5.1",
  requires: ["github.com/temporalio/cli v1.5.1"],
  replaces: [],
};

/** The server that the CLI has inside, with every database it knows, and what makes its schema in one. */
export const temporalServer: Recipe = {
  name: "temporal-server",
  packages: {
    "temporal-server": "go.temporal.io/server/cmd/server",
    "temporal-sql-tool": "go.temporal.io/server/cmd/tools/sql",
  },
  ldflags: "-s -w",
  requires: ["go.temporal.io/server v1.29.1"],
  replaces: [],
};
