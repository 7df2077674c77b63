/**
 * Finds the Machines that name a Node in their status. machine-controller (1.66) matches Machines and Nodes by provider
 * ID, or else by any common address. So a Machine whose instance got the address of an earlier instance names the Node
 * of that instance, and deleting the Machine would drain and delete that Node.
 */
import type { Cluster } from "../../cluster.ts";
import { listPage, type Machine, machines } from "../../kube/resources.ts";
import { ifFound, statusOf } from "../../kube/status.ts";
import { type NodeClaim, type NodeStanding, standingOn } from "../../node/node_claim.ts";
import { type Namer, namerOf, poolWatchesOf } from "./pool_watch.ts";

/** Milliseconds for which a list of all Machines is reused while no watch has them. */
const listedMs = 5_000;

/**
 * Returns, by the name of the Machine, the claim of each of these Machines that names a Node: its identity, and the
 * other Machines that name the same Node. All of these Machines must be of one namespace.
 */
export async function readClaims(kube: Cluster, own: readonly Machine[]): Promise<Map<string, NodeClaim>> {
  const naming = own.flatMap((machine) => namerOf(machine) ?? []);
  const namersOf = await readNamers(kube, naming);
  return new Map(naming.map((namer) => [namer.name, claimOf(namer, namersOf(namer.node))]));
}

/**
 * Returns whether the Node that a Machine names is certainly the Machine's own; Own also if the Machine names no Node,
 * or if the Node does not exist.
 */
export async function readStanding(kube: Cluster, machine: Machine): Promise<NodeStanding> {
  const claim = (await readClaims(kube, [machine])).get(machine.metadata.name);
  const name = machine.status?.nodeRef?.name;
  if (!claim || name === undefined || (claim.rivals.length === 0 && claim.instance === "")) return { state: "Own" };
  const facts = (await kube.nodes.find([name])).get(name);
  return facts ? standingOn(facts, claim) : { state: "Own" };
}

/**
 * Returns a function that finds the Machines of all namespaces that name a Node, from the watch or else from a list;
 * only those of `own` if Ostler may not list the Machines.
 */
async function readNamers(kube: Cluster, own: readonly Namer[]): Promise<(node: string) => Namer[]> {
  if (own.length === 0) return () => [];
  const watch = poolWatchesOf(kube).machines;
  watch.ask();
  if (watch.isFresh) return (node) => watch.group("node", node).flatMap(([, { namer }]) => namer ?? []);
  const listed = await kube.cache.read("machines by node", () => listNamers(kube), { freshMs: listedMs });
  return (node) => listed?.get(node) ?? own.filter((each) => each.node === node);
}

/** Lists the Machines that name a Node, by Node; undefined if Ostler may not list the Machines of all namespaces. */
async function listNamers(kube: Cluster): Promise<Map<string, Namer[]> | undefined> {
  const found: Namer[] = [];
  let after: string | undefined;
  try {
    do {
      const page = await ifFound(listPage(kube, machines, { limit: 500, after }));
      found.push(...(page?.items ?? []).flatMap((machine) => namerOf(machine) ?? []));
      after = page?.next;
    } while (after !== undefined);
  } catch (error) {
    if (statusOf(error) === 403) return undefined;
    throw error;
  }
  return Map.groupBy(found, ({ node }) => node);
}

function claimOf(own: Namer, all: readonly Namer[]): NodeClaim {
  const rivals = all.filter(({ uid }) => uid !== own.uid).sort((a, b) => Number(isElder(b, a)) - Number(isElder(a, b)));
  return {
    ...{ machine: nameOf(own), ids: idsOf(own), instance: own.instance },
    rivals: rivals.map((each) => ({
      ...{ machine: nameOf(each), ids: idsOf(each), uid: each.uid, isElder: isElder(each, own) },
    })),
  };
}

function isElder(one: Namer, other: Namer): boolean {
  return one.since === other.since ? one.uid < other.uid : one.since < other.since;
}

function nameOf({ namespace, name }: Namer): string {
  return `${namespace}/${name}`;
}

/**
 * Returns the provider IDs that the Node of a Machine can have: if no cloud controller sets one, machine-controller
 * sets one with the UID of the Machine.
 */
function idsOf({ instance, uid }: Namer): string[] {
  return [...(instance === "" ? [] : [instance]), `kubermatic://machine/${uid}`];
}
