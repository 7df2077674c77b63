/** The commands for profiles in files, which need no cluster: render, validate and diff. */
import { type Command, Option } from "commander";
import type { DiffOptions } from "./diff_command.ts";
import { isForeseen, Untold } from "./failure.ts";
import type { RenderOptions } from "./render_command.ts";
import { withConnection, withNamespace } from "./rollout/cluster_command.ts";
import type { ClusterFlags } from "./rollout/cluster_command.ts";
import { UsageError } from "./usage_error.ts";
import type { ValidateOptions } from "./validate_command.ts";
import type { Wiring } from "./wiring.ts";

/** Adds the commands. */
export function addProfileCommands(program: Command, wiring: Wiring): void {
  addRender(program, wiring);
  addValidate(program, wiring);
  addDiff(program, wiring);
}

/** The commands that accept settings of the machines, such as --node-http-proxy. */
export const takeSettings: readonly string[] = ["render", "diff", "adopt"];

function addRender(program: Command, wiring: Wiring): void {
  const { terminal, argv, end } = wiring;
  const command = program.command("render")
    .summary("render the files that machines boot with")
    .description("render every file that the machines of a MachineDeployment would boot with; secrets are placeholders")
    .argument("<profile>", "file, or name of a built-in profile")
    .argument("<machine-deployment>", "file with one MachineDeployment")
    .addOption(outputOption("text", "json", "yaml"))
    .option("--out <folder>", "write files to this new or empty folder");
  withSettings(command, wiring).action(async (profile: string, deployment: string, given: RenderOptions) => {
    const { render } = await import("./render_command.ts");
    end(await render(terminal, { ...given, profile, deployment, argv }));
  });
}

const validateHelp = `
A template that does not end, or needs too much memory, is an error; the check of its profile then stops.

Exit code 0: no errors; 1: errors; 2: unusable input; 3: --timeout passed, without errors until then.`;

function addValidate(program: Command, { terminal, end }: Wiring): void {
  const command = program.command("validate")
    .summary("check profiles")
    .description("render profiles for each of their providers and each kubelet minor version, and check the output")
    .argument("[profiles...]", "files or names (default: the built-in profiles)")
    .addOption(outputOption("text", "json"))
    .option("--parameter <name=value>", "trial value for a parameter without a default", collect)
    .option("--timeout <duration>", "maximum duration, such as 90s; 0 is unlimited", "10m")
    .addHelpText("after", validateHelp);
  withParents(command).action(async (profiles: string[], given: ValidateOptions) => {
    const { validate } = await import("./validate_command.ts");
    end(await told(validate(terminal, { ...given, profiles })));
  });
}

const diffHelp = `
With one name: compare the template of that MachineDeployment in the cluster with its last good template.
With files: compare the files of machines between two profiles, two sets of settings, or both.

Exit code 0: no change; 1: changes; 2: unusable input; 4: the cluster cannot be reached.`;

type DiffArguments = [string, string | undefined, string | undefined, DiffOptions & ClusterFlags];

function addDiff(program: Command, wiring: Wiring): void {
  const command = program.command("diff")
    .summary("show the effect of a change")
    .description("show the effect of a change on a pool in the cluster, or on the files that machines boot with")
    .usage("[options] <pool>\n       ostler diff [options] <before> [after] <machine-deployment>")
    .argument("<before>", "profile (file or name), or, as the only argument, a MachineDeployment in the cluster")
    .argument("[after]", "profile; omit it to compare settings only")
    .argument("[machine-deployment]", "file with one MachineDeployment")
    .addOption(outputOption("text", "json"))
    .option("--set <flag=value>", "setting of the second side only, such as node-http-proxy=http://proxy:3128", collect)
    .addHelpText("after", diffHelp);
  withConnection(withNamespace(withSettings(command, wiring))).action(async (...all: DiffArguments) => {
    wiring.end(await told(diffOf(wiring, all)));
  });
}

async function diffOf(
  { terminal, argv, inWorld }: Wiring,
  [before, second, third, given]: DiffArguments,
): Promise<number> {
  if (second !== undefined) {
    const [after, deployment] = third === undefined ? [before, second] : [second, third];
    const { diff } = await import("./diff_command.ts");
    return await diff(terminal, { ...given, before, after, deployment, argv });
  }
  if (before === "-" || /\.(ya?ml|json)$/.test(before)) {
    throw new UsageError(
      "Failed to compare: the file of the MachineDeployment is missing; give it as the last argument",
    );
  }
  const { diffPool } = await import("./rollout/pool_diff_command.ts");
  return await inWorld(given, (world) => diffPool(terminal, world, { ...given, pool: before }));
}

/** Gives internal errors exit code 2, because exit code 1 is a result of `validate` and `diff`. */
async function told(found: Promise<number>): Promise<number> {
  try {
    return await found;
  } catch (error) {
    throw isForeseen(error) ? error : new Untold(error);
  }
}

function outputOption(...formats: [string, ...string[]]): Option {
  return new Option("-o, --output <format>", "output format").choices(formats).default(formats[0]);
}

function withParents(command: Command): Command {
  return command.option("-f, --files <path>", "file or folder with parent profiles; repeatable", collect);
}

function withSettings(command: Command, { settingsHelp = "" }: Wiring): Command {
  return withParents(command)
    .option("--config <file>", "YAML file of settings, keyed by flag without dashes")
    .addHelpText("after", `\nSettings of the machines:\n${settingsHelp}`);
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
