import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { isStoryName, type StoryName, storyNames } from "./stories/story_names.ts";

/** What the person who starts the demo decides. */
export interface DemoOptions {
  /** Undefined for the main job. */
  readonly story?: StoryName;
  readonly machines: MachinesOption;
  /** Where no Docker engine answers, Debian's may be installed and started. */
  readonly installDocker: boolean;
  readonly replicas: number;
  /** Mean time from order to kubelet start; each machine draws its own, up to 30 % off. */
  readonly bootSeconds: number;
  readonly seed: number;
  /** For how long a story cuts Temporal off. */
  readonly cutSeconds: number;
  readonly keep: boolean;
  readonly json: boolean;
  readonly help: boolean;
}

const machineKinds = ["simulated", "container"] as const;
export type MachinesOption = typeof machineKinds[number];

/** What stands on the command line cannot be used. */
export class UsageError extends Error {}

/** The text of `--help`. */
export const usage = `The main job of Ostler, narrated, on an embedded stack.

deno task demo [flags]

  --story NAME      tell another story, each about a policy, and end with what was checked:
                    ${storyNames.join(", ")}
  --machines KIND   what the machines are (simulated): "simulated" ones, or "container": each
                    boots in a container, with systemd, cloud-init, containerd and kubelet
  --install-docker  with --machines container, on Debian or Ubuntu as root: where no Docker
                    engine answers, install Debian's and start it until the demo ends
  --cut-seconds S   with --story installed: how long Temporal is cut off, 1 to 3600 (30)
  --replicas N      machines in the pool, 1 to 20 (3)
  --boot-seconds S  mean time a machine takes to boot, 0.1 to 120 (4)
  --seed N          fixes every machine's boot time (random, printed)
  --keep            leave everything running at the end, until Ctrl-C
  --json            print the final report as one JSON object on the last line of
                    standard output; all other text goes to standard error
  --help            print this

A story brings its own number of machines and boot times, and needs simulated ones, but for three.
"scaling-group" takes either kind: twelve simulated nodes, or four that boot in containers.
"in-place" does too: twelve simulated nodes with bootc, or two in containers with ostree.
"installed" needs --machines container: there Ostler's image is built, installed by its chart
on machines of its own, with Temporal on PostgreSQL where that is installed.

Exit code 0: every promise was kept. 1: one was broken, or the demo failed.
2: a flag is wrong. 130: Ctrl-C.
`;

const storiesOnContainers: readonly string[] = ["installed", "scaling-group", "in-place"];
const largestSeed = 2 ** 31;

/** Reads the command line; throws UsageError naming the flag that cannot be used. */
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
  if (!isStoryName(story)) throw wrong("story", story, `one of ${storyNames.join(", ")} is needed`);
  for (const flag of ["replicas", "boot-seconds"] as const) {
    if (others[flag] !== undefined) throw wrong(flag, others[flag], `story "${story}" brings its own`);
  }
  return { story };
}

function machinesOf(values: Values): Pick<DemoOptions, "machines" | "installDocker"> {
  const { machines = "simulated", "install-docker": installDocker = false, story } = values;
  const kind = machineKinds.find((each) => each === machines);
  if (kind === undefined) throw wrong("machines", machines, `one of ${machineKinds.join(", ")} is needed`);
  if (kind === "simulated") {
    if (story === "installed") throw wrong("story", story, "it needs --machines container");
    if (!installDocker) return { machines: kind, installDocker };
    throw new UsageError("Cannot use --install-docker: simulated machines need no Docker engine");
  }
  const seconds = values["boot-seconds"];
  if (seconds !== undefined) throw wrong("boot-seconds", seconds, "a machine that really boots takes its own time");
  if (story !== undefined && !storiesOnContainers.includes(story)) {
    throw wrong("machines", kind, `story "${story}" needs simulated machines`);
  }
  return { machines: kind, installDocker };
}

function cutOf({ story, "cut-seconds": seconds }: Values): number {
  if (seconds !== undefined && story !== "installed") {
    throw wrong("cut-seconds", seconds, 'only story "installed" cuts Temporal off');
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
    throw new UsageError(`Cannot read the command line: ${reason}; --help lists the flags`);
  }
}

function whole(flag: string, text: string, range: { min: number; max: number }): number {
  const value = number(flag, text, range);
  if (Number.isInteger(value)) return value;
  throw wrong(flag, text, `a whole number from ${range.min} to ${range.max} is needed`);
}

function number(flag: string, text: string, { min, max }: { min: number; max: number }): number {
  const value = text.trim() === "" ? NaN : Number(text);
  if (value >= min && value <= max) return value;
  throw wrong(flag, text, `a number from ${min} to ${max} is needed`);
}

function wrong(flag: string, text: string, need: string): UsageError {
  return new UsageError(`Cannot use --${flag} "${text}": ${need}`);
}
