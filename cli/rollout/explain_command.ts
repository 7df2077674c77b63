/** `ostler explain MACHINE`: why a machine is where it is, and what happens next and when. */
import { machineDeployments } from "../../activities/kube/resources.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { eventsAbout, ifAllowed, listAll, type NamedCluster } from "../connect/cluster.ts";
import { usualProfileNamespace, type World } from "../connect/world.ts";
import { Refusal } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { moment } from "../view/durations.ts";
import { machineParagraph } from "../view/machine_paragraph.ts";
import { asData, type Format } from "../view/output.ts";
import { wrapped } from "../view/wrapped.ts";
import type { ClusterFlags } from "./cluster_command.ts";
import { explainNode } from "./explain_node.ts";
import { findMachine, makerByName, noMachine } from "./find_machine.ts";
import { readMachineFacts } from "./machine_facts.ts";

export interface ExplainFlags extends ClusterFlags {
  machine: string;
  output: Format;
  profileNamespace?: string;
}

/** Shows one paragraph; fails with 1 for a machine that does not exist, with what is still known of it. */
export async function explainMachine(terminal: Terminal, world: World, flags: ExplainFlags): Promise<number> {
  const cluster = await world.cluster();
  const { machine: name, namespace = cluster.namespace } = flags;
  const found = await findMachine(cluster, { name, namespace });
  if (found === undefined) {
    const story = await explainNode(cluster, name, world.now());
    if (story === undefined || story.pool === undefined) throw await missing(world, cluster, { name, namespace });
    terminal.out(asData(flags.output, { ...story }) ?? `${shown(terminal, story.text)}\n`);
    return 0;
  }
  const profileNamespace = flags.profileNamespace ?? usualProfileNamespace;
  const facts = await readMachineFacts(world, { found, profileNamespace });
  const { member, node, lastEvent, bootReport, row } = facts;
  // Its machine may be of one pool, and what it runs the affair of another.
  const inPlace = node && await explainNode(cluster, node.name, world.now());
  const text = [machineParagraph(facts), ...(inPlace?.pool ? [inPlace.text] : [])].join(" ");
  const data = asData(flags.output, { ...row?.pool, text, machine: member, ...{ node, lastEvent, bootReport } });
  terminal.out(data ?? `${shown(terminal, text)}\n`);
  return 0;
}

function shown(terminal: Terminal, text: string): string {
  return terminal.isWatched ? wrapped(text, terminal.columns?.() || 80) : text;
}

// A machine that was replaced is asked for often: its name stands in some log.
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
      `Machine "${name}" is gone; the last event about it, at ${when}: ${last.reason}: ${last.message}`,
    );
  }
  if (await ifAllowed(ifFound(cluster.kube.core.readNode({ name }))) !== undefined) {
    return new Refusal(
      `Cannot explain "${name}": it is a node that no Machine made, so Ostler has nothing to do with it`,
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
    .catch(() => undefined); // only the run remembers, and it need not be open
  const record = progress?.replacements.find(({ machine }) => machine === name);
  return record &&
    new Refusal(`Machine "${name}" is gone: this rollout drained it, and "${record.replacedBy}" came for it`);
}
