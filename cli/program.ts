/** The command line of `ostler`: its commands and its exit codes. */
import { Command, CommanderError } from "commander";
import { addCompletion, completeWord, suggested } from "./completion/completion_command.ts";
import { seenThrough } from "./connect/seen_through.ts";
import { type Connect, connectWorld } from "./connect/world.ts";
import { exitCodeOf, exitCodes, isForeseen } from "./failure.ts";
import { addClusters } from "./fleet/commands.ts";
import { addProfileCommands, takeSettings } from "./profile_commands.ts";
import { inWorld } from "./rollout/cluster_command.ts";
import { addImage } from "./image/commands.ts";
import { addHandover } from "./handover/commands.ts";
import { addRolloutCommands } from "./rollout/commands.ts";
import { addSetup } from "./setup/commands.ts";
import { calledAs, type Terminal } from "./terminal.ts";
import { printableLines } from "./view/printable.ts";
import type { Wiring } from "./wiring.ts";
import manifest from "../package.json" with { type: "json" };

/**
 * Runs one command line and returns the exit code listed in `--help`. Template engines stay open for the next command
 * line.
 */
export async function runProgram(
  terminal: Terminal,
  args: readonly string[],
  connect: Connect = connectWorld,
): Promise<number> {
  let code = 0;
  const settings = args.some((arg) => takeSettings.includes(arg))
    ? await import("./settings_of_machines.ts")
    : undefined;
  const wiring: Wiring = {
    terminal,
    ...(settings && { settingsHelp: settings.settingsOfMachines() }),
    argv: args.includes("--") ? args.slice(0, args.indexOf("--")) : [...args],
    end: (ended) => void (code = ended),
    inWorld: (flags, work) => inWorld({ terminal, connect: seenThrough(connect) }, flags, work),
  };
  try {
    const program = programOf(wiring);
    if (args[0] === completeWord) {
      terminal.out(await suggested(program, wiring, args.slice(1)));
      return 0;
    }
    const rest = settings?.withoutSettings(args) ?? args;
    const command = rest.find((argument) => !argument.startsWith("-"));
    // Commander does not know the settings of machines, such as --node-http-proxy, so they are removed from the
    // arguments of commands that accept them.
    await program.parseAsync(takeSettings.includes(command ?? "") ? rest : args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    terminal.err(`${explained(error)}\n`);
    return exitCodeOf(error);
  }
}

function explained(error: unknown): string {
  if (isForeseen(error)) return printableLines(error.message);
  return error instanceof Error ? error.stack ?? error.message : String(error);
}

function programOf(wiring: Wiring): Command {
  const { terminal } = wiring;
  const program = new Command(calledAs(terminal))
    .description(
      "Show and control rollouts of machines, render the files that machines boot with, and check profiles.",
    )
    .version(manifest.version)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError("See --help")
    .addHelpText("after", helpAfter);
  program.commandsGroup("Rollouts:");
  addRolloutCommands(program, wiring);
  addClusters(program, wiring);
  addImage(program, wiring);
  program.commandsGroup("Profiles:");
  addProfileCommands(program, wiring);
  program.commandsGroup("Installation:");
  addSetup(program, wiring);
  addHandover(program, wiring);
  program.commandsGroup("More:");
  addCompletion(program, wiring);
  return program;
}

const helpAfter = `
PROFILE is a file, - for standard input, or the name of a built-in profile; commands with a PROFILE need no cluster.
A file may have at most 1.5 MiB, a folder 6 MiB.
POOL is a MachineDeployment, a scaling group or a NodePool; -l, --all and -A select several.
Temporal is needed only by commands that control rollouts, image admit, clusters, status --all-clusters, setup, release,
and plan of a scaling group.

${exitCodes}`;
