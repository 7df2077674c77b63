/** The command that looks at all clusters: flags and words. */
import type { Command } from "commander";
import { exitCodes } from "../failure.ts";
import { tableOutput, withTemporal } from "../rollout/cluster_command.ts";
import type { Wiring } from "../wiring.ts";
import type { ClustersFlags } from "./clusters_command.ts";

/** Adds it. */
export function addClusters(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("clusters")
    .summary("show all clusters of one Temporal")
    .description(
      "show all clusters that share a namespace of Temporal: who each is, whether workers poll for it and in which " +
        "version, its open rollouts, and when its credentials were last renewed; asks Temporal alone and needs no " +
        "kubeconfig. A controller polls nothing and is not seen here",
    )
    .option("--check", "exit code 1 where a cluster needs somebody")
    .addOption(tableOutput("wide", "json", "yaml"));
  withTemporal(command).addHelpText("after", `\n${exitCodes}`).action(async (given: ClustersFlags) => {
    const { showClusters } = await import("./clusters_command.ts");
    end(await inWorld(given, (world) => showClusters(terminal, world, given)));
  });
}
