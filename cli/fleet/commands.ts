/** The command that shows all clusters. */
import type { Command } from "commander";
import { exitCodes } from "../failure.ts";
import { tableOutput, withTemporal } from "../rollout/cluster_command.ts";
import type { Wiring } from "../wiring.ts";
import type { ClustersFlags } from "./clusters_command.ts";

/** Adds the command. */
export function addClusters(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("clusters")
    .summary("show all clusters in one Temporal namespace")
    .description(
      "show all clusters that share a Temporal namespace: identity, polling workers and version, open rollouts, " +
        "last renewal of credentials; read only Temporal, without a kubeconfig. Controllers do not poll Temporal, so " +
        "they are not shown",
    )
    .option("--check", "exit with 1 if a cluster needs action")
    .addOption(tableOutput("wide", "json", "yaml"));
  withTemporal(command).addHelpText("after", `\n${exitCodes}`).action(async (given: ClustersFlags) => {
    const { showClusters } = await import("./clusters_command.ts");
    end(await inWorld(given, (world) => showClusters(terminal, world, given)));
  });
}
