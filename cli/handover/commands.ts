/** The commands that take a cluster over from Operating System Manager, and give it back: flags and words. */
import type { Command } from "commander";
import { exitCodes } from "../failure.ts";
import { tableOutput, withConnection } from "../rollout/cluster_command.ts";
import type { Wiring } from "../wiring.ts";
import type { AdoptFlags } from "./adopt_command.ts";
import type { ReleaseFlags } from "./release_flags.ts";

/** Adds them. */
export function addHandover(program: Command, wiring: Wiring): void {
  addAdopt(program, wiring);
  addRelease(program, wiring);
}

function addAdopt(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = withPlaces(program.command("adopt"))
    .summary("take a cluster over from Operating System Manager")
    .description(
      "put Ostler's name on what Operating System Manager made for each pool, with nothing of it changed and no machine " +
        "replaced, and tell what it leaves; refuses beside one that is at work. docs/how-to/hand-over.md tells the whole way",
    )
    .option("--remove-leftovers", "remove what Operating System Manager leaves and no machine boots with any more");
  withConnection(command).addHelpText("after", `\n${exitCodes}`).action(async (given: AdoptFlags) => {
    const { adopt } = await import("./adopt_command.ts");
    end(await inWorld(given, (world) => adopt(terminal, world, given)));
  });
}

function addRelease(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = withPlaces(program.command("release"))
    .summary("give a cluster back to Operating System Manager")
    .description(
      "take away all that is Ostler's, and leave what machines boot from so that Operating System Manager goes on with " +
        "it; no machine is replaced. Ostler has to be scaled down, and Operating System Manager not up yet. What was cut " +
        "short goes on when it is run again. docs/how-to/hand-over.md tells the whole way",
    )
    .option("-y, --yes", "do not ask")
    .option("--unfinished", "also pools in mid-rollout: machine-controller goes on with them by its own rules")
    .option("--unrenderable", "also pools with a profile that Operating System Manager cannot render")
    .option("--without-temporal", "leave Temporal alone, as when it cannot be reached");
  withConnection(command).addHelpText("after", `\n${exitCodes}`).action(async (given: ReleaseFlags) => {
    const { release } = await import("./release_command.ts");
    end(await inWorld(given, (world) => release(terminal, world, given)));
  });
}

function withPlaces(command: Command): Command {
  return command
    .option("--dry-run", "say what would be done, and write nothing")
    .option("--system-namespace <name>", "namespace of Ostler's processes", "ostler-system")
    .option("--profile-namespace <name>", "namespace of profiles and configs", "kube-system")
    .addOption(tableOutput("json", "yaml"));
}
