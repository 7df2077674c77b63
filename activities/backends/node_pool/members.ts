/** The nodes of a pool as the rollout planner sees them. */
import type { Cluster } from "../../cluster.ts";
import type { Member, PoolRef } from "../../../workflows/contracts/mod.ts";
import { isOwnHold } from "../../node/holder.ts";
import type { MachineState, MemberRef, Observation } from "../contract.ts";
import { lockMemberOf } from "./fleet_lock.ts";
import type { Note } from "./note.ts";
import { type PoolNode, readPoolNode } from "./pool_nodes.ts";
import { isSelected, readNodePool, readSelected } from "./selected.ts";
import { hashOf, imageOf, isLockTarget, partsOf, templateOf } from "./wanted.ts";

/**
 * Stands for the unknown image of a node that has booted since Ostler last asked the node what it runs. Ostler asks
 * again before it changes the node.
 */
const unknown = "";

/**
 * Returns a node as the rollout planner sees it: as failed if the image `digest` failed on it. `snapshotOf` ignores
 * such a failure if a `retry` command is newer.
 */
export function memberOf(pool: PoolRef, node: PoolNode, digest: string): Member {
  const { name, bootId, createdAt, kubelet, isReady, note } = node;
  const isKnown = note.bootId !== "" && note.bootId === bootId;
  const booted = isKnown ? note.booted : unknown;
  const isOurs = isOwnHold(pool, node.cordonedBy);
  const failure = note.failed.find((each) => each.digest === digest);
  return {
    ...{ id: name, node: name, templateHash: hashOf(booted), image: booted, kubelet, phase: "Ready", since: createdAt },
    ...{ marked: isOurs, held: isOurs, expendable: false },
    ...(isKnown && note.staged === digest ? { staged: true as const } : {}),
    ...(failure
      ? { kept: "Failed" as const, failedAt: failure.at, ...replaceableOf(node, failure) }
      : !isReady && !isOurs
      ? { kept: "Down" as const }
      : {}),
  };
}

// Before Ostler replaces a node, it orders the node once more to fetch the image, which only a Ready node can do.
function replaceableOf({ isReady }: PoolNode, { isReplaceable }: Note["failed"][number]): Pick<Member, "replaceable"> {
  return isReplaceable && isReady ? { replaceable: true } : {};
}

/** Reads all nodes of a pool, each with the image that was recorded for its current boot. */
export async function observeNodes(kube: Cluster, pool: PoolRef): Promise<Observation> {
  const nodePool = await readNodePool(kube, pool);
  if (!nodePool) return { members: [], templateHash: "", counted: new Map() };
  const image = await imageOf(kube, nodePool);
  const { digest } = partsOf(image);
  const nodes = await readSelected(kube, nodePool);
  return {
    members: nodes.map((node) => isLockTarget(image) ? lockMemberOf(pool, node) : memberOf(pool, node, digest)),
    templateHash: templateOf(image),
    counted: new Map(),
  };
}

/** Reads one node; undefined if it was deleted or the pool does not select it. */
export async function readMember(kube: Cluster, { pool, machine }: MemberRef): Promise<Member | undefined> {
  const [nodePool, node] = [await readNodePool(kube, pool), await readPoolNode(kube, machine)];
  if (!nodePool || !node || !isSelected(nodePool, node)) return undefined;
  const image = await imageOf(kube, nodePool);
  return isLockTarget(image) ? lockMemberOf(pool, node) : memberOf(pool, node, partsOf(image).digest);
}

/**
 * Returns `{ rollsControlPlanes: false }` if the pool selects the node and the machine is that node; otherwise
 * undefined.
 */
export async function readOwnership(
  kube: Cluster,
  { pool, machine, node }: MemberRef & { node: string },
): Promise<{ rollsControlPlanes: false } | undefined> {
  if (node !== machine) return undefined;
  const [nodePool, found] = [await readNodePool(kube, pool), await readPoolNode(kube, node)];
  return nodePool && found && isSelected(nodePool, found) ? { rollsControlPlanes: false } : undefined;
}

/** Reads the progress of one node, which always counts as joined; undefined if it was deleted. */
export async function readState(kube: Cluster, { machine }: MemberRef): Promise<MachineState | undefined> {
  const node = await readPoolNode(kube, machine);
  if (!node) return undefined;
  return {
    ...{ name: machine, leaving: false, ordered: true, addresses: [], node: machine, joined: true },
    ...{ image: node.note.booted, finalizers: [], object: { kind: "Node", namespace: "", name: machine } },
  };
}
