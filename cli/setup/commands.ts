/** The command that prepares Temporal: flags and texts. */
import type { Command } from "commander";
import { exitCodes } from "../failure.ts";
import { tableOutput, withConnection } from "../rollout/cluster_command.ts";
import type { Wiring } from "../wiring.ts";
import type { SetupFlags } from "./setup_command.ts";

/** Adds the command. */
export function addSetup(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("setup")
    .summary("prepare Temporal, and check Kubernetes permissions")
    .description(
      "create missing search attributes and the namespace in Temporal, check the permissions of the processes in " +
        "Kubernetes, and print one line for each; leave existing objects unchanged, except the retention if --retention is given",
    )
    .option("--retention <duration>", "retention of ended workflows, such as 7d")
    .option("--dry-run", "show the steps without writing anything")
    .option("--no-rights", "skip the permission check in Kubernetes")
    .option("--system-namespace <name>", "namespace of the processes", "ostler-system")
    .option("--profile-namespace <name>", "namespace of profiles and configs", "kube-system")
    .addOption(tableOutput("json", "yaml"));
  withConnection(command).addHelpText("after", `\n${exitCodes}`).action(async (given: SetupFlags) => {
    const { setUp } = await import("./setup_command.ts");
    end(await inWorld(given, (world) => setUp(terminal, world, given)));
  });
}
