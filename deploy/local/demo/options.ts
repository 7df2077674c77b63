import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { isStoryName, type StoryName, storyNames } from "./stories/story_names.ts";

/** The options of the demo. */
export interface DemoOptions {
  /** Name of the story to play; undefined for the main story. */
  readonly story?: StoryName;
  readonly machines: MachinesOption;
  /** Whether the demo may install and start Debian's Docker engine if none answers. */
  readonly installDocker: boolean;
  readonly replicas: number;
  /**
   * Mean seconds from the creation of a simulated machine to the start of its kubelet; the value for each machine is
   * random, within 30 % of the mean.
   */
  readonly bootSeconds: number;
  readonly seed: number;
  /** Seconds for which story "installed" makes Temporal unreachable. */
  readonly cutSeconds: number;
  readonly keep: boolean;
  readonly json: boolean;
  readonly help: boolean;
}

const machineKinds = ["simulated", "container"] as const;
export type MachinesOption = typeof machineKinds[number];

/** Thrown if the command line is invalid. */
export class UsageError extends Error {}

/** The text of `--help`. */
export const usage = `Show a rollout of Ostler on an embedded stack.

deno task demo [flags]

  --story NAME      Play a story about one feature and check it:
                    ${storyNames.join(", ")}
  --machines KIND   Use this kind of machines (default simulated): "simulated", or "container",
                    which boots each in a container with systemd, cloud-init, containerd and kubelet
  --install-docker  Install Debian's Docker engine if none answers, and stop it at the end;
                    only with --machines container, as root on Debian or Ubuntu
  --cut-seconds S   Disconnect Temporal for S seconds, 1 to 3600 (default 30);
                    only with --story installed
  --replicas N      Create N machines, 1 to 20 (default 3)
  --boot-seconds S  Set the mean boot time, 0.1 to 120 (default 4)
  --seed N          Fix the boot time of every machine (default random, printed)
  --keep            Keep everything running until Ctrl-C
  --json            Print the report as one JSON object on the last line of
                    standard output; all other text goes to standard error
  --help            Show this help

Each story has its own number of machines and boot times, and all but three need simulated machines.
"scaling-group" supports either kind: twelve simulated nodes, or four that boot in containers.
"in-place" supports either kind: twelve simulated nodes with bootc, or two in containers with ostree.
"installed" needs --machines container: it builds Ostler's image, installs it with its chart
on machines of its own, and runs Temporal on PostgreSQL if that is installed.

Exit code 0: all checks passed. 1: a check or the demo failed.
2: a flag is invalid. 130: Ctrl-C.
`;

const storiesOnContainers: readonly string[] = ["installed", "scaling-group", "in-place"];
const largestSeed = 2 ** 31;

/** Returns the options on the command line; throws UsageError that names the invalid flag. */
export function parseOptions(args: readonly string[]): DemoOptions {
  const values = parse(args);
  return {
    ...storyOf(values),
    ...machinesOf(values),
    replicas: whole("replicas", values.replicas ?? "3", { min: 1, max: 20 }),
    bootSeconds: number("boot-seconds", values["boot-seconds"] ?? "4", { min: 0.1, max: 120 }),
    cutSeconds: cutOf(values),
    seed: values.seed === undefined
      ? randomInt(1, 100_000)
      : whole("seed", values.seed, { min: 0, max: largestSeed - 1 }),
    keep: values.keep ?? false,
    json: values.json ?? false,
    help: values.help ?? false,
  };
}

function storyOf({ story, ...others }: Values): { story?: StoryName } {
  if (story === undefined) return {};
  if (!isStoryName(story)) throw wrong("story", story, `must be one of ${storyNames.join(", ")}`);
  for (const flag of ["replicas", "boot-seconds"] as const) {
    if (others[flag] !== undefined) throw wrong(flag, others[flag], `story "${story}" sets its own value`);
  }
  return { story };
}

function machinesOf(values: Values): Pick<DemoOptions, "machines" | "installDocker"> {
  const { machines = "simulated", "install-docker": installDocker = false, story } = values;
  const kind = machineKinds.find((each) => each === machines);
  if (kind === undefined) throw wrong("machines", machines, `must be one of ${machineKinds.join(", ")}`);
  if (kind === "simulated") {
    if (story === "installed") throw wrong("story", story, "it needs --machines container");
    if (!installDocker) return { machines: kind, installDocker };
    throw new UsageError("Invalid --install-docker: simulated machines do not use a Docker engine");
  }
  const seconds = values["boot-seconds"];
  if (seconds !== undefined) throw wrong("boot-seconds", seconds, "the boot time applies to simulated machines only");
  if (story !== undefined && !storiesOnContainers.includes(story)) {
    throw wrong("machines", kind, `story "${story}" needs simulated machines`);
  }
  return { machines: kind, installDocker };
}

function cutOf({ story, "cut-seconds": seconds }: Values): number {
  if (seconds !== undefined && story !== "installed") {
    throw wrong("cut-seconds", seconds, 'only story "installed" disconnects Temporal');
  }
  return number("cut-seconds", seconds ?? "30", { min: 1, max: 3600 });
}

type Values = Partial<
  & Record<"story" | "cut-seconds" | "machines" | "replicas" | "boot-seconds" | "seed", string>
  & Record<"install-docker" | "keep" | "json" | "help", boolean>
>;

function parse(args: readonly string[]): Values {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        story: { type: "string" },
        machines: { type: "string" },
        "cut-seconds": { type: "string" },
        "install-docker": { type: "boolean" },
        replicas: { type: "string" },
        "boot-seconds": { type: "string" },
        seed: { type: "string" },
        keep: { type: "boolean" },
        json: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
    return values;
  } catch (error) {
    const [reason = ""] = (error instanceof Error ? error.message : String(error)).split(". ");
    throw new UsageError(`Failed to read the command line: ${reason}; --help lists the flags`);
  }
}

function whole(flag: string, text: string, range: { min: number; max: number }): number {
  const value = number(flag, text, range);
  if (Number.isInteger(value)) return value;
  throw wrong(flag, text, `must be a whole number from ${range.min} to ${range.max}`);
}

function number(flag: string, text: string, { min, max }: { min: number; max: number }): number {
  const value = text.trim() === "" ? NaN : Number(text);
  if (value >= min && value <= max) return value;
  throw wrong(flag, text, `must be a number from ${min} to ${max}`);
}

function wrong(flag: string, text: string, need: string): UsageError {
  return new UsageError(`Invalid --${flag} "${text}": ${need}`);
}
