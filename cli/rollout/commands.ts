/** The commands that show and control rollouts; each command has a module of its own. */
import { type Command, Option } from "commander";
import type { CommandName } from "../connect/engine.ts";
import { exitCodes } from "../failure.ts";
import type { Wiring } from "../wiring.ts";
import { type ClusterFlags, tableOutput, withConnection, withNamespace, withSelection } from "./cluster_command.ts";
import type { CaFlags } from "./ca_command.ts";
import type { ExplainFlags } from "./explain_command.ts";
import type { LogsFlags } from "./logs_command.ts";
import type { PlanFlags } from "./plan_command.ts";
import type { RecreateFlags } from "./recreate_command.ts";
import type { SendFlags } from "./send_command.ts";
import type { StatusFlags } from "./status_command.ts";

/** Adds the commands, in the order in which a change needs them. */
export function addRolloutCommands(program: Command, wiring: Wiring): void {
  addPlan(program, wiring);
  addStatus(program, wiring);
  for (const told of steering) addSteering(program, wiring, told);
  addSkip(program, wiring);
  addRecreate(program, wiring);
  addExplain(program, wiring);
  addLogs(program, wiring);
  addHistory(program, wiring);
  addCa(program, wiring);
}

const poolWords = "MachineDeployment as [NAMESPACE/]NAME, scaling group as sg/NAME, or NodePool as nodepool/NAME";
const poolsOrVersion =
  `${poolWords}, or a NodeVersion with its groups as nodeversion/NAME (default: all pools of the namespace)`;
const profilePlace = [
  "--profile-namespace <name>",
  "namespace of profiles, as set for the workers (default: kube-system)",
] as const;
const timeoutWords = "longest wait, such as 90s or 1h30m (default: unlimited)";

function addPlan(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("plan")
    .summary("show what a rollout would do")
    .description("show the machines to be replaced, their order and waves, the blockers, and the expected duration")
    .argument("[pool]", `${poolWords}, or a NodeVersion as nodeversion/NAME, to plan its upgrade of Kubernetes`)
    .addOption(tableOutput("wide", "json", "yaml"))
    .option("-f, --file <file>", "file with a MachineDeployment not applied yet, or -")
    .option(...profilePlace);
  finished(withSelection(command)).action(async (pool: string | undefined, given: PlanFlags) => {
    const { showPlan } = await import("./plan_command.ts");
    end(await inWorld(given, (world) => showPlan(terminal, world, named(pool, given))));
  });
}

function addStatus(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("status")
    .summary("show the status of rollouts")
    .description("show the status of rollouts; show a named pool in full")
    .argument("[pool]", poolsOrVersion)
    .addOption(tableOutput("wide", "json", "yaml"))
    .option("--all-clusters", "show open rollouts of all clusters from Temporal")
    .option("-w, --watch", "watch until all end; exit with 0 if all are ready")
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

/** A command that controls whole rollouts, with its help texts. */
interface Steering {
  name: CommandName;
  summary: string;
  /** The state that `--wait` waits for. */
  waits: string;
}

const untilEnded = "the rollout is ready or has failed";

const untilRetried = `${untilEnded}; after a rollback, until the change is allowed again`;

const steering: readonly Steering[] = [
  { name: "pause", summary: "pause a rollout; finish machines in progress", waits: "no machine is in progress" },
  { name: "resume", summary: "resume a paused rollout", waits: "the rollout is no longer paused" },
  { name: "approve", summary: "approve a plan, or its next wave", waits: untilEnded },
  { name: "promote", summary: "end a soak, or accept inconclusive gates or etcd checks", waits: untilEnded },
  { name: "retry", summary: "retry a halted or quarantined change", waits: untilRetried },
  { name: "abort", summary: "stop a rollout; return to the last good template", waits: "the rollout is aborted" },
];

function addSteering(program: Command, { terminal, end, inWorld }: Wiring, { name, summary, waits }: Steering): void {
  const command = program.command(name).summary(summary).description(summary).argument("[pool]", poolWords);
  if (name === "approve") command.option("--plan <hash>", "hash that `ostler plan` shows; required");
  if (name === "promote") command.option("--full", "promote all remaining waves at once");
  if (name === "abort") command.option("-y, --yes", "do not ask for confirmation");
  const full = finished(withSelection(withReason(command, waits)));
  full.action(async (pool: string | undefined, given: SendFlags) => {
    const { sendCommand } = await import("./send_command.ts");
    end(await inWorld(given, (world) => sendCommand(terminal, world, { name, flags: named(pool, given) })));
  });
}

function addSkip(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("skip")
    .summary("skip one outdated machine")
    .description("skip one outdated machine for this change")
    .argument("<machine>", "machine, or its node; with --pool, the name in the status and messages of that pool")
    .option("--pool <pool>", "pool without Machines: sg/NAME or nodepool/NAME");
  const full = finished(withNamespace(withReason(command, untilEnded)));
  full.action(async (machine: string, given: SendFlags) => {
    const { skipMachine } = await import("./send_command.ts");
    end(await inWorld(given, (world) => skipMachine(terminal, world, { name: machine, flags: given })));
  });
}

function addRecreate(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("recreate")
    .summary("replace machines that trust outdated CAs")
    .description(
      "annotate the template of each pool that has a machine which does not trust exactly the present CAs of the " +
        "cluster. A rollout then replaces all machines of the pool, with plan, approval, waves and windows as for " +
        "any other change",
    )
    .argument("[pool]", "MachineDeployment as [NAMESPACE/]NAME")
    .requiredOption("--outdated-ca", "select pools that `ostler ca` shows as incomplete")
    .option("--dry-run", "show the plans without writing anything")
    .option("-y, --yes", "do not ask for confirmation")
    .option(...profilePlace);
  finished(withSelection(command)).action(async (pool: string | undefined, given: RecreateFlags) => {
    const { recreateOutdated } = await import("./recreate_command.ts");
    end(await inWorld(given, (world) => recreateOutdated(terminal, world, named(pool, given))));
  });
}

function withReason(command: Command, waits: string): Command {
  return command
    .option("--reason <text>", "record a reason for status, Events and history")
    .option("--as <name>", "record this user name (default: yours in Kubernetes)")
    .option("--wait", `wait until ${waits}`)
    .option("--timeout <duration>", `with --wait: ${timeoutWords}`);
}

function addExplain(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("explain")
    .summary("explain a machine, a pool, or a reason")
    .description(
      "explain the state of a machine, pool or NodeVersion, why it is so, and the next step with its time; or " +
        "explain the reason of a condition, and its remedy",
    )
    .argument(
      "<machine>",
      "machine, its node, a pool as [KIND/][NAMESPACE/]NAME, nodeversion/NAME, or a reason such as AwaitingApproval",
    )
    .addOption(tableOutput("json", "yaml"))
    .option(...profilePlace);
  finished(withNamespace(command)).action(async (machine: string, given: Omit<ExplainFlags, "machine">) => {
    const { explain } = await import("./explain_command.ts");
    end(await inWorld(given, (world) => explain(terminal, world, { ...given, machine })));
  });
}

function addLogs(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("logs")
    .summary("show the events of a rollout")
    .description("show the Events of a rollout and the steps of its run, in order of time")
    .argument("<pool>", poolWords)
    .addOption(tableOutput("json", "yaml"))
    .addOption(new Option("--tail <lines>", "number of newest lines").default("200"))
    .option("--since <duration>", "skip lines older than this, such as 10m")
    .option("--waits", "include the waits between steps of the run")
    .option("-f, --follow", "keep printing new lines")
    .option("--timeout <duration>", "with -f: stop after this duration (default: unlimited)");
  finished(withNamespace(command)).action(async (pool: string, given: LogsFlags) => {
    const { showLogs } = await import("./logs_command.ts");
    end(await inWorld(given, (world) => showLogs(terminal, world, { ...given, pool })));
  });
}

function addHistory(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("history")
    .summary("show the last ten rollouts")
    .description("show the last ten rollouts of pools: change, time, user and result")
    .argument("[pool]", `${poolWords} (default: all pools of the namespace)`)
    .addOption(tableOutput("wide", "json", "yaml"));
  finished(withSelection(command)).action(async (pool: string | undefined, given: ClusterFlags & StatusFlags) => {
    const { showHistory } = await import("./history_command.ts");
    end(await inWorld(given, (world) => showHistory(terminal, world, named(pool, given))));
  });
}

function addCa(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("ca")
    .summary("show which CAs machines trust")
    .description(
      "show which machines trust exactly the present CAs of the cluster, during a rotation of its CA; exit with 0 if " +
        "all do",
    )
    .argument("[pool]", `${poolWords} (default: all pools of the cluster)`)
    .addOption(tableOutput("wide", "json", "yaml"))
    .option("--bundle <file>", "PEM file with the present CAs (default: ConfigMap cluster-info)")
    .option("--given-only", "omit pools whose CAs Ostler does not provide");
  finished(withSelection(command)).action(async (pool: string | undefined, given: CaFlags) => {
    const { showCaTrust } = await import("./ca_command.ts");
    end(await inWorld(given, (world) => showCaTrust(terminal, world, named(pool, given))));
  });
}

function finished(command: Command): Command {
  return withConnection(command).addHelpText("after", `\n${exitCodes}`);
}

function named<T extends ClusterFlags>(pool: string | undefined, flags: T): T {
  return pool === undefined ? flags : { ...flags, pool };
}
