/** `ostler explain NAME`: explains the state of a machine, a pool or a NodeVersion, and the next step; or a reason. */
import { machineDeployments } from "../../activities/kube/resources.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { eventsAbout, ifAllowed, listAll, type NamedCluster } from "../connect/cluster.ts";
import { usualProfileNamespace, type World } from "../connect/world.ts";
import { Refusal } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { moment } from "../view/durations.ts";
import { machineParagraph } from "../view/machine_paragraph.ts";
import { asData, type Format } from "../view/output.ts";
import { printable } from "../view/printable.ts";
import { wrapped } from "../view/wrapped.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { explainNode } from "./explain_node.ts";
import { explainPool } from "./explain_pool.ts";
import { explainReason, isReason } from "./explain_reason.ts";
import { explainVersion } from "./explain_version.ts";
import { findMachine, type FoundMachine, makerByName, noMachine } from "./find_machine.ts";
import { readMachineFacts } from "./machine_facts.ts";
import { versionNamed } from "./node_versions.ts";
import type { PoolRow } from "./pool_row.ts";
import { chosenBy, readRow } from "./pools.ts";

export interface ExplainFlags extends ClusterFlags {
  /** The argument of the command: a machine, a node, a pool, a NodeVersion, or the reason of a condition. */
  machine: string;
  output: Format;
  profileNamespace?: string;
}

/**
 * Prints one paragraph about the object with the given name, or about a reason. `nodeversion/NAME` is a NodeVersion,
 * and a name in PascalCase is a reason. `NAMESPACE/NAME` and `KIND/NAME` are a pool, or else a machine; a plain name is
 * a machine or a node, or else a pool. Throws Refusal, with the facts that are still known, for a name that no object
 * has.
 */
export async function explain(terminal: Terminal, world: World, flags: ExplainFlags): Promise<number> {
  if (isReason(flags.machine)) return explainReason(terminal, flags.machine, flags.output);
  const cluster = await world.cluster();
  const version = versionNamed(flags.machine);
  if (version !== undefined) {
    const story = await explainVersion(cluster, version);
    terminal.out(asData(flags.output, story) ?? `${shown(terminal, story.text)}\n`);
    return 0;
  }
  const [name = "", place, ...kind] = flags.machine.split("/").reverse();
  const named = place === undefined ? undefined : await poolNamed(cluster, flags);
  if (named?.row) return await printPool(terminal, world, { row: named.row, output: flags.output });
  // A machine is named without its kind, so KIND/NAMESPACE/NAME is never a machine.
  const namespace = kind.length > 0 ? undefined : place ?? flags.namespace ?? cluster.namespace;
  const found = namespace === undefined
    ? undefined
    : await machineNamed(cluster, { name, namespace, isPlaced: place !== undefined });
  if (found === undefined && named?.refusal) throw named.refusal;
  return await explainMachine(terminal, world, { found, flags: { ...flags, machine: name } });
}

/** Returns the pool with this name, or why there is none. */
async function poolNamed(
  cluster: NamedCluster,
  { machine: pool, namespace }: Pick<ExplainFlags, "machine" | "namespace">,
): Promise<{ row?: PoolRow; refusal?: Refusal }> {
  const chosen = chosenBy({ pool, ...(namespace === undefined ? {} : { namespace }) }, cluster, false);
  try {
    return chosen.kind === "one" ? { row: await readRow(cluster, chosen.pool) } : {};
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error };
    throw error;
  }
}

async function machineNamed(
  cluster: NamedCluster,
  { isPlaced, ...where }: { name: string; namespace: string; isPlaced: boolean },
): Promise<FoundMachine | undefined> {
  const found = await findMachine(cluster, where);
  return isPlaced && found?.machine.metadata.namespace !== where.namespace ? undefined : found;
}

async function printPool(
  terminal: Terminal,
  world: World,
  { row, output }: { row: PoolRow; output: Format },
): Promise<number> {
  const story = await explainPool(world, row);
  terminal.out(asData(output, story) ?? `${shown(terminal, story.text)}\n`);
  return 0;
}

async function explainMachine(
  terminal: Terminal,
  world: World,
  { found, flags }: { found: FoundMachine | undefined; flags: ExplainFlags },
): Promise<number> {
  const cluster = await world.cluster();
  const { machine: name, namespace = cluster.namespace } = flags;
  if (found === undefined) {
    const story = await explainNode(cluster, name, world.now());
    if (story === undefined || story.pool === undefined) {
      const { row } = await poolNamed(cluster, flags);
      if (row) return await printPool(terminal, world, { row, output: flags.output });
      throw await missing(world, cluster, { name, namespace });
    }
    terminal.out(asData(flags.output, { ...story }) ?? `${shown(terminal, story.text)}\n`);
    return 0;
  }
  const profileNamespace = flags.profileNamespace ?? usualProfileNamespace;
  const facts = await readMachineFacts(world, { found, profileNamespace });
  const { member, node, lastEvent, bootReport, row } = facts;
  // The Machine may belong to one pool and the OS of its node to a NodePool, which is explained too.
  const inPlace = node && await explainNode(cluster, node.name, world.now());
  const text = [machineParagraph(facts), ...(inPlace?.pool ? [inPlace.text] : [])].join(" ");
  const data = asData(flags.output, { ...row?.pool, text, machine: member, ...{ node, lastEvent, bootReport } });
  terminal.out(data ?? `${shown(terminal, text)}\n`);
  return 0;
}

// A paragraph has texts of other systems, such as Events and conditions of nodes.
function shown(terminal: Terminal, text: string): string {
  const safe = printable(text, Infinity);
  return terminal.isWatched ? wrapped(safe, terminal.columns?.() || 80) : safe;
}

// Returns why no machine has this name, with the machine's replacement or last Event if known: users often name a
// replaced machine that they saw in a log.
async function missing(
  world: World,
  cluster: NamedCluster,
  { name, namespace }: { name: string; namespace: string },
): Promise<Refusal> {
  const heir = await replacementOf(world, cluster, { name, namespace });
  if (heir !== undefined) return heir;
  const last = (await ifAllowed(eventsAbout(cluster.kube, { kind: "Machine", namespace, name })))?.at(-1);
  if (last !== undefined) {
    const when = moment(last.at, world.now());
    return new Refusal(
      printable(
        `Machine "${name}" no longer exists; its last Event, at ${when}: ${last.reason}: ${last.message}`,
        2_000,
      ),
    );
  }
  if (await ifAllowed(ifFound(cluster.kube.core.readNode({ name }))) !== undefined) {
    return new Refusal(
      `Failed to explain node "${name}": no Machine and no NodePool owns it; if a scaling group does, ` +
        "run ostler status sg/NAME",
    );
  }
  return await noMachine(cluster, { name, namespace });
}

async function replacementOf(
  world: World,
  { kube }: NamedCluster,
  { name, namespace }: { name: string; namespace: string },
): Promise<Refusal | undefined> {
  const names = (await listAll(kube, machineDeployments, { namespace }))
    .map((one) => (one as { metadata?: { name?: string } }).metadata?.name ?? "");
  const pool = makerByName(name, names);
  if (pool === undefined) return undefined;
  const progress = await world.engine().then((engine) => engine.progress({ namespace, name: pool }))
    .catch(() => undefined); // without the answer of an open run, the replacement is unknown
  const record = progress?.replacements.find(({ machine }) => machine === name);
  return record &&
    new Refusal(
      `Machine "${name}" no longer exists: the rollout of pool "${pool}" replaced it with "${record.replacedBy}"`,
    );
}
