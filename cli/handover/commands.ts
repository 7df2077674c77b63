/** The commands that take a cluster over from Operating System Manager, and give it back. */
import type { Command } from "commander";
import { exitCodes } from "../failure.ts";
import { tableOutput, withConnection } from "../rollout/cluster_command.ts";
import type { Wiring } from "../wiring.ts";
import type { AdoptFlags } from "./adopt_command.ts";
import type { ReleaseFlags } from "./release_flags.ts";

/** Adds the commands. */
export function addHandover(program: Command, wiring: Wiring): void {
  addAdopt(program, wiring);
  addRelease(program, wiring);
}

function addAdopt(program: Command, { terminal, argv, end, inWorld, settingsHelp = "" }: Wiring): void {
  const command = withPlaces(program.command("adopt"))
    .summary("take a cluster over from Operating System Manager")
    .description(
      "annotate the objects of Operating System Manager for each pool as Ostler's, without changing their data or " +
        "replacing a machine, and report leftovers; fails while Operating System Manager runs. With --dry-run, also " +
        "render the config of each pool as Ostler would, and report changes and refusals. See " +
        "docs/how-to/hand-over.md",
    )
    .option("--remove-leftovers", "remove unused objects of Operating System Manager");
  const settings =
    `\nSettings of the machines, for --dry-run (default: read from the installed Deployment):\n${settingsHelp}`;
  withConnection(command).addHelpText("after", `\n${exitCodes}${settings}`).action(async (given: AdoptFlags) => {
    const { adopt } = await import("./adopt_command.ts");
    end(await inWorld(given, (world) => adopt(terminal, world, { ...given, argv })));
  });
}

function addRelease(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = withPlaces(program.command("release"))
    .summary("give a cluster back to Operating System Manager")
    .description(
      "remove all objects of Ostler except those that machines boot from, which Operating System Manager continues " +
        "to use; replace no machine. First scale Ostler down, and afterwards start Operating System Manager. Repeat " +
        "the command after an interruption. See docs/how-to/hand-over.md",
    )
    .option("-y, --yes", "do not ask for confirmation")
    .option("--unfinished", "release pools during rollouts; machine-controller continues these")
    .option("--unrenderable", "release pools whose profile Operating System Manager cannot render")
    .option("--without-temporal", "skip Temporal, for example if it is unreachable");
  withConnection(command).addHelpText("after", `\n${exitCodes}`).action(async (given: ReleaseFlags) => {
    const { release } = await import("./release_command.ts");
    end(await inWorld(given, (world) => release(terminal, world, given)));
  });
}

function withPlaces(command: Command): Command {
  return command
    .option("--dry-run", "show the steps without writing anything")
    .option("--system-namespace <name>", "namespace of Ostler's processes", "ostler-system")
    .option("--profile-namespace <name>", "namespace of profiles and configs", "kube-system")
    .addOption(tableOutput("json", "yaml"));
}
