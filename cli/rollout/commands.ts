/** The commands that look at rollouts and steer them: flags and words; each does its work in a module of its own. */
import { type Command, Option } from "commander";
import type { CommandName } from "../connect/engine.ts";
import { exitCodes } from "../failure.ts";
import type { Wiring } from "../wiring.ts";
import { type ClusterFlags, tableOutput, withConnection, withNamespace, withSelection } from "./cluster_command.ts";
import type { ExplainFlags } from "./explain_command.ts";
import type { LogsFlags } from "./logs_command.ts";
import type { PlanFlags } from "./plan_command.ts";
import type { SendFlags } from "./send_command.ts";
import type { StatusFlags } from "./status_command.ts";

/** Adds them, in the order in which a change is lived through. */
export function addRolloutCommands(program: Command, wiring: Wiring): void {
  addPlan(program, wiring);
  addStatus(program, wiring);
  for (const told of steering) addSteering(program, wiring, told);
  addSkip(program, wiring);
  addExplain(program, wiring);
  addLogs(program, wiring);
  addHistory(program, wiring);
}

const poolWords = "MachineDeployment: NAME, NAMESPACE/NAME or machinedeployment/NAME; a scaling group: sg/NAME";
const profilePlace = [
  "--profile-namespace <name>",
  "namespace of profiles, as the workers have it (default: kube-system)",
] as const;
const timeoutWords = "how long to wait, such as 90s or 1h30m; else without end";

function addPlan(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("plan")
    .summary("show what a rollout would do")
    .description("show which machines would be replaced, in which order and waves, what blocks, and how long it takes")
    .argument("[pool]", poolWords)
    .addOption(tableOutput("wide", "json", "yaml"))
    .option("-f, --file <file>", "a MachineDeployment that is not applied yet, - for standard input")
    .option(...profilePlace);
  finished(withSelection(command)).action(async (pool: string | undefined, given: PlanFlags) => {
    const { showPlan } = await import("./plan_command.ts");
    end(await inWorld(given, (world) => showPlan(terminal, world, named(pool, given))));
  });
}

function addStatus(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("status")
    .summary("show how rollouts stand")
    .description("show how rollouts stand; one that is named in full")
    .argument(
      "[pool]",
      `${poolWords}; a NodeVersion with its groups: nodeversion/NAME; without one, all of the namespace`,
    )
    .addOption(tableOutput("wide", "json", "yaml"))
    .option("--all-clusters", "pools with an open rollout of all clusters of one Temporal, without a kubeconfig")
    .option("-w, --watch", "go on looking until all have ended; exit code 0 when they are ready")
    .option("--timeout <duration>", `with -w: ${timeoutWords}`);
  finished(withSelection(command)).action(async (pool: string | undefined, given: StatusFlags) => {
    const flags = named(pool, given);
    if (given.allClusters) {
      const { showAllClusters } = await import("../fleet/all_clusters_status.ts");
      return end(await inWorld(given, (world) => showAllClusters(terminal, world, flags)));
    }
    const { watchStatus } = await import("./watch_command.ts");
    const { showStatus } = await import("./status_command.ts");
    end(await inWorld(given, (world) => (given.watch ? watchStatus : showStatus)(terminal, world, flags)));
  });
}

/** A command to whole rollouts, in words. */
interface Steering {
  name: CommandName;
  summary: string;
  /** What `--wait` waits for. */
  waits: string;
}

const untilEnded = "the rollout is ready, or has ended otherwise";

const untilRetried = `${untilEnded}; of a pool that went back, until its change may be applied again`;

const steering: readonly Steering[] = [
  { name: "pause", summary: "admit no more machines; what is under way is finished", waits: "nothing is under way" },
  { name: "resume", summary: "admit machines again", waits: "it is no longer paused" },
  { name: "approve", summary: "let a plan, or its next wave, begin", waits: untilEnded },
  { name: "promote", summary: "end a soak now, or take inconclusive gates as passed", waits: untilEnded },
  { name: "retry", summary: "try again what halted or was quarantined", waits: untilRetried },
  { name: "abort", summary: "stop, and go back to the last good template", waits: "it is aborted" },
];

function addSteering(program: Command, { terminal, end, inWorld }: Wiring, { name, summary, waits }: Steering): void {
  const command = program.command(name).summary(summary).description(summary).argument("[pool]", poolWords);
  if (name === "approve") command.option("--plan <hash>", "the plan that is meant, as `ostler plan` shows it");
  if (name === "promote") command.option("--full", "all waves that are left at once");
  if (name === "abort") command.option("-y, --yes", "do not ask");
  const full = finished(withSelection(withReason(command, waits)));
  full.action(async (pool: string | undefined, given: SendFlags) => {
    const { sendCommand } = await import("./send_command.ts");
    end(await inWorld(given, (world) => sendCommand(terminal, world, { name, flags: named(pool, given) })));
  });
}

function addSkip(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("skip")
    .summary("leave one old machine as it is")
    .description("leave one old machine as it is, for this change")
    .argument("<machine>", "machine, or its node");
  const full = finished(withNamespace(withReason(command, untilEnded)));
  full.action(async (machine: string, given: SendFlags) => {
    const { skipMachine } = await import("./send_command.ts");
    end(await inWorld(given, (world) => skipMachine(terminal, world, { name: machine, flags: given })));
  });
}

function withReason(command: Command, waits: string): Command {
  return command
    .option("--reason <text>", "why; it is shown in the status, the Events and the history")
    .option("--as <name>", "who asks; else the user that the API server knows")
    .option("--wait", `wait until ${waits}`)
    .option("--timeout <duration>", `with --wait: ${timeoutWords}`);
}

function addExplain(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("explain")
    .summary("say why a machine is where it is")
    .description("say in one paragraph why a machine is where it is, and what happens next and when")
    .argument("<machine>", "machine, or its node")
    .addOption(tableOutput("json", "yaml"))
    .option(...profilePlace);
  finished(withNamespace(command)).action(async (machine: string, given: Omit<ExplainFlags, "machine">) => {
    const { explainMachine } = await import("./explain_command.ts");
    end(await inWorld(given, (world) => explainMachine(terminal, world, { ...given, machine })));
  });
}

function addLogs(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("logs")
    .summary("tell the story of a rollout")
    .description("tell the story of a rollout: its Events and the steps of its run, in the order of time")
    .argument("<pool>", poolWords)
    .addOption(tableOutput("json", "yaml"))
    .addOption(new Option("--tail <lines>", "the newest lines").default("200"))
    .option("--since <duration>", "no older ones, such as 10m")
    .option("--waits", "with what the run waited for between its steps")
    .option("-f, --follow", "go on telling")
    .option("--timeout <duration>", "with -f: how long; else without end");
  finished(withNamespace(command)).action(async (pool: string, given: LogsFlags) => {
    const { showLogs } = await import("./logs_command.ts");
    end(await inWorld(given, (world) => showLogs(terminal, world, { ...given, pool })));
  });
}

function addHistory(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("history")
    .summary("show the last ten rollouts")
    .description("show the last ten rollouts of pools: what, when, who, and how it ended")
    .argument(
      "[pool]",
      `${poolWords}; a NodeVersion with its groups: nodeversion/NAME; without one, all of the namespace`,
    )
    .addOption(tableOutput("wide", "json", "yaml"));
  finished(withSelection(command)).action(async (pool: string | undefined, given: ClusterFlags & StatusFlags) => {
    const { showHistory } = await import("./history_command.ts");
    end(await inWorld(given, (world) => showHistory(terminal, world, named(pool, given))));
  });
}

function finished(command: Command): Command {
  return withConnection(command).addHelpText("after", `\n${exitCodes}`);
}

function named<T extends ClusterFlags>(pool: string | undefined, flags: T): T {
  return pool === undefined ? flags : { ...flags, pool };
}
