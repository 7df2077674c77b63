/** The command that prepares Temporal: flags and words. */
import type { Command } from "commander";
import { exitCodes } from "../failure.ts";
import { tableOutput, withConnection } from "../rollout/cluster_command.ts";
import type { Wiring } from "../wiring.ts";
import type { SetupFlags } from "./setup_command.ts";

/** Adds it. */
export function addSetup(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("setup")
    .summary("prepare Temporal for Ostler, and check the rights of its processes")
    .description(
      "make Temporal's namespace and search attributes where they are absent, look whether the processes may do in " +
        "Kubernetes what they have to, and say so, one line each; what is there stays as it is",
    )
    .option("--retention <duration>", "how long what has ended is kept, such as 7d; of a namespace that is there, too")
    .option("--dry-run", "say what would be done, and write nothing")
    .option("--no-rights", "leave Kubernetes alone")
    .option("--system-namespace <name>", "namespace of the processes", "ostler-system")
    .option("--profile-namespace <name>", "namespace of profiles and configs", "kube-system")
    .addOption(tableOutput("json", "yaml"));
  withConnection(command).addHelpText("after", `\n${exitCodes}`).action(async (given: SetupFlags) => {
    const { setUp } = await import("./setup_command.ts");
    end(await inWorld(given, (world) => setUp(terminal, world, given)));
  });
}
