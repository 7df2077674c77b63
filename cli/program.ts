/** The command line of `ostler`: which commands there are, and what they take. */
import { Command, CommanderError, Option } from "commander";
import { closeTemplateEngines, ProfileRefused, settingRows, settingsHelp } from "../profiles/mod.ts";
import { NodeSettings } from "../profiles/node_settings.ts";
import { readFlagArguments } from "../profiles/settings/flag_arguments.ts";
import { diff, type DiffOptions } from "./diff_command.ts";
import { render, type RenderOptions } from "./render_command.ts";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./usage_error.ts";
import { validate, type ValidateOptions } from "./validate_command.ts";

/** What `--version` says; the first number will be 1 when what others rely on is settled. */
const version = "0.1.0";

/** Runs one command line; gives the exit code, 2 for whatever could not be done. */
export async function runProgram(terminal: Terminal, args: readonly string[]): Promise<number> {
  const argv = args.includes("--") ? args.slice(0, args.indexOf("--")) : [...args];
  let code = 0;
  const program = programOf(terminal, argv, (ended) => void (code = ended));
  try {
    // Settings are flags of their own kind, with one dash or two; commander sees the rest.
    const { rest } = readFlagArguments(NodeSettings.shape, [...args]);
    await program.parseAsync(rest, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    terminal.err(`${explained(error)}\n`);
    return 2;
  } finally {
    await closeTemplateEngines();
  }
}

function explained(error: unknown): string {
  if (error instanceof UsageError || error instanceof ProfileRefused) return error.message;
  return error instanceof Error ? error.stack ?? error.message : String(error);
}

type End = (code: number) => void;

function programOf(terminal: Terminal, argv: string[], end: End): Command {
  const program = new Command("ostler")
    .description("Shows what machines would boot with, and what is wrong with a profile. Needs no cluster.")
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError("--help tells more")
    .addHelpText(
      "after",
      "\nPROFILE is a file, - for standard input, or the name of a profile that comes with Ostler.",
    );
  addRender(program, { terminal, argv, end });
  addValidate(program, { terminal, argv, end });
  addDiff(program, { terminal, argv, end });
  return program;
}

interface Wiring {
  terminal: Terminal;
  argv: string[];
  end: End;
}

function addRender(program: Command, { terminal, argv, end }: Wiring): void {
  const command = program.command("render")
    .summary("show what machines would boot with")
    .description("show every file that the machines of a MachineDeployment would boot with; secrets are placeholders")
    .argument("<profile>", "file or name")
    .argument("<machine-deployment>", "file")
    .addOption(outputOption("text", "json", "yaml"))
    .option("--out <folder>", "write a tree of files instead; the folder must be new or empty");
  withSettings(command).action(async (profile: string, deployment: string, given: RenderOptions) => {
    end(await render(terminal, { ...given, profile, deployment, argv }));
  });
}

function addValidate(program: Command, { terminal, end }: Wiring): void {
  const command = program.command("validate")
    .summary("check profiles")
    .description("render profiles for each of their providers and every kubelet, and check what comes out")
    .argument("[profiles...]", "files or names; without any, the profiles that come with Ostler")
    .addOption(outputOption("text", "json"))
    .option("--parameter <name=value>", "value to try a parameter with that has no default", collect)
    .addHelpText("after", "\nExit code 0: no errors; 1: errors; 2: it could not be looked at.");
  withParents(command).action(async (profiles: string[], given: ValidateOptions) => {
    end(await validate(terminal, { ...given, profiles }));
  });
}

function addDiff(program: Command, { terminal, argv, end }: Wiring): void {
  const command = program.command("diff")
    .summary("show what would change on the machines")
    .description("show what would change on the machines: with another profile, with other settings, or both")
    .usage("[options] <before> [after] <machine-deployment>")
    .argument("<before>", "profile: file or name")
    .argument("[after]", "profile; without it, only settings change")
    .argument("[machine-deployment]", "file")
    .addOption(outputOption("text", "json"))
    .option(
      "--set <flag=value>",
      "a setting of the second side, such as node-http-proxy=http://proxy:3128",
      collect,
    )
    .addHelpText("after", "\nExit code 0: nothing would change; 1: something would; 2: it could not be looked at.");
  withSettings(command).action(async (...all: [string, string | undefined, string | undefined, DiffOptions]) => {
    const [before, second, third, given] = all;
    if (second === undefined) throw new UsageError("Cannot compare: a file with the MachineDeployment is missing");
    const [after, deployment] = third === undefined ? [before, second] : [second, third];
    end(await diff(terminal, { ...given, before, after, deployment, argv }));
  });
}

function outputOption(...formats: [string, ...string[]]): Option {
  return new Option("-o, --output <format>", "how to show it").choices(formats).default(formats[0]);
}

function withParents(command: Command): Command {
  return command.option(
    "-f, --files <path>",
    "file or folder with profiles that others extend; repeatable",
    collect,
  );
}

function withSettings(command: Command): Command {
  return withParents(command)
    .option("--config <file>", "YAML file of settings, by these names without the dashes")
    .addHelpText("after", `\nSettings of the machines:\n${settingsHelp(settingRows(NodeSettings))}`);
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
