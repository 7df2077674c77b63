/** Completes the PendingNodes of the Constellation node operator; `records.ts` has those of Ostler. */
import type { Cluster } from "../../cluster.ts";
import { groupKeyOf, type Instance, type InstanceState } from "../../clouds/driver.ts";
import { deleteRecord, isOwn } from "./records.ts";
import { type GroupNode, readGroupNodes } from "../../node_version/group_nodes.ts";
import { asMergePatch, type Kube } from "../../kube/client.ts";
import { patchClusterObject } from "../../kube/resources.ts";
import { abreast, ifFound, ifRoom } from "../../kube/status.ts";
import { type PendingNode, pendingNodes } from "../../kube/update_kinds.ts";
import { type NodeTarget, same } from "../../node_version/classify.ts";
import { type MarkedNode, marks } from "../../node_version/marks.ts";
import { readInstances } from "./sight.ts";

/**
 * Returns whether the Constellation node operator created a record: it does not have the finalizer or annotations of
 * Ostler.
 */
export function isOld(record: PendingNode): boolean {
  return !isOwn(record);
}

/**
 * Performs the next step for each PendingNode of the Constellation node operator; returns the PendingNodes that are not
 * completed yet.
 */
export async function tendOldRecords(
  kube: Cluster,
  records: readonly PendingNode[],
  { fleet, target, now, mayTake }: {
    fleet: GroupFleet;
    target: NodeTarget;
    now: number;
    /** Returns whether a group has workers only, so that its machines can be removed. */
    mayTake: (group: string) => boolean;
  },
): Promise<PendingNode[]> {
  const left: PendingNode[] = [];
  for (const record of records) {
    const verdict = verdictFor(record, { fleet, target, now });
    if (verdict.step === "Gone" || verdict.step === "Joined") await deleteRecord(kube, record);
    else left.push(record);
    if (verdict.step === "Remove" && mayTake(record.spec.groupID)) await remove(kube, record, fleet);
  }
  return left;
}

function verdictFor(
  { metadata, spec, status }: PendingNode,
  { fleet, target, now }: { fleet: GroupFleet; target: NodeTarget; now: number },
): PendingVerdict {
  const instance = fleet.instances.find(({ providerId }) => same(providerId, spec.providerID));
  const node = fleet.nodes.find(({ name }) => name === spec.nodeName);
  return verdictOn({
    ...{ goal: spec.goal ?? "Join", since: Date.parse(metadata.creationTimestamp) },
    deadline: spec.deadline ? Date.parse(spec.deadline) : undefined,
    ...{ state: instance?.state ?? "Absent", wasSeen: status?.cspState !== undefined, hasNode: node !== undefined },
    isWanted: node !== undefined && isWanted(node, target),
  }, now);
}

function isWanted({ image, components }: GroupNode, target: NodeTarget): boolean {
  return same(image, target.image) && same(components, target.components);
}

/**
 * Removes a record's machine, unless its node is Ready or a control plane. The next step repeats the removal, because
 * the goal is Leave from now on.
 */
async function remove(kube: Cluster, { metadata: { name, uid }, spec }: PendingNode, fleet: GroupFleet): Promise<void> {
  // Users with permission to write records could name any instance, so only an unprotected instance of the record's
  // group is removed.
  const isOurs = fleet.instances.some(({ providerId, group, isProtected }) =>
    same(providerId, spec.providerID) && groupKeyOf(group) === groupKeyOf(spec.groupID) && !isProtected
  );
  // The Constellation node operator deleted a node before it set the goal Leave, so no record justifies the removal of
  // a machine whose node is Ready.
  const node = fleet.nodes.find(({ providerId }) => same(providerId, spec.providerID));
  if (node && (node.isReady || node.isControlPlane)) return;
  const driver = await kube.cloud.driver();
  if (isOurs) await driver.remove({ group: spec.groupID, providerId: spec.providerID, shrinks: true });
  if (spec.goal === "Leave") return;
  const body = { metadata: { uid }, spec: { goal: "Leave", deadline: null } };
  await ifFound(patchClusterObject(kube, pendingNodes, { name, body }));
}

// Determines the next step of a machine that joins or leaves a group, from its PendingNode and the cloud; pure.

/** Milliseconds after an order in which the cloud may not show the instance. */
const graceMs = 120_000;
/** Milliseconds between reads of a record without a deadline, or whose deadline has passed. */
const restMs = 30_000;

/** The facts about one record. */
export interface PendingFacts {
  goal: "Join" | "Leave";
  /** Deadline of the record (epoch ms); undefined waits without a limit. */
  deadline: number | undefined;
  /** Creation time of the record (epoch ms). */
  since: number;
  /** State of the instance; "Absent" if the cloud does not show it. */
  state: InstanceState | "Absent";
  /** Whether the cloud has shown the instance before. */
  wasSeen: boolean;
  /** Whether a Node with the name of the instance exists. */
  hasNode: boolean;
  /** Whether the Node with the name of the instance runs the current target. */
  isWanted: boolean;
}

/**
 * The next step of a record. Joined: the record is completed. Gone: the machine was deleted, was never created, or has
 * joined with an older target. Remove: remove the machine, repeatedly, with the goal Leave from then on. Wait: until
 * `until` (epoch ms) at the latest.
 */
type PendingVerdict =
  | { step: "Joined" }
  | { step: "Gone" }
  | { step: "Remove"; why: string; until: number }
  | { step: "Wait"; until: number };

/** Returns the next step of a record at `now` (epoch ms). */
export function verdictOn(facts: PendingFacts, now: number): PendingVerdict {
  return facts.goal === "Join" ? onJoin(facts, now) : onLeave(facts, now);
}

function onJoin(facts: PendingFacts, now: number): PendingVerdict {
  const { deadline, state, hasNode, isWanted } = facts;
  const until = now + restMs;
  // The instance was deleted before it joined, or the cloud has not shown it within `graceMs`: nothing is left to
  // remove.
  if (isGone(facts, now)) return { step: "Gone" };
  // A failed instance never joins.
  if (state === "Failed") return { step: "Remove", why: "the cloud reports that the instance failed", until };
  // A machine with an older target has joined too, so its record ends; the machine is replaced like any other outdated
  // one.
  if (hasNode && state === "Ready") return isWanted ? { step: "Joined" } : { step: "Gone" };
  if (deadline !== undefined && now >= deadline) {
    return { step: "Remove", why: "the machine did not join in time", until };
  }
  return { step: "Wait", until: deadline ?? until };
}

// A machine has left only when the cloud does not show it any more; until then the removal is repeated.
function onLeave(facts: PendingFacts, now: number): PendingVerdict {
  const { deadline } = facts;
  if (isGone(facts, now)) return { step: "Gone" };
  if (deadline !== undefined && now < deadline) return { step: "Wait", until: deadline };
  return { step: "Remove", why: "the machine still exists", until: now + restMs };
}

function isGone({ state, wasSeen, since }: PendingFacts, now: number): boolean {
  if (state === "Terminated") return true;
  return state === "Absent" && (wasSeen || now >= since + graceMs);
}

// Finds pairs of new and old nodes from the annotations of both; pure. The result does not depend on how the nodes are
// sorted.

interface Pair {
  donor: string;
  heir: string;
}

/** The pairs of old and new nodes of a NodeVersion. */
export interface Pairing {
  /** Old nodes with the new nodes that replace them: pairs that annotations record already, and newly found pairs. */
  pairs: Pair[];
  /** Marks whose partner does not exist any more or belongs to another node. */
  stale: { node: string; mark: "heir" | "donor" }[];
}

/** A new node, with the group of its order. */
interface Mint {
  name: string;
  group: string;
}

interface Nodes {
  outdated: readonly MarkedNode[];
  donors: readonly MarkedNode[];
  heirs: readonly MarkedNode[];
  mints: readonly Mint[];
}

/**
 * Keeps pairs that are annotated on both nodes; then pairs each new node with the first free old node of its group. A
 * new node for which no old node is left stays alone.
 */
export function pairingOf({ outdated, donors, heirs, mints }: Nodes): Pairing {
  const standing = byName(donors).flatMap((donor): Pair[] => {
    const heir = heirs.find(({ name }) => name === donor.heir);
    return heir?.donor === donor.name ? [{ donor: donor.name, heir: heir.name }] : [];
  });
  const paired = new Set(standing.flatMap(({ donor, heir }) => [donor, heir]));
  const stale: Pairing["stale"] = [
    ...byName(donors).filter(({ name }) => !paired.has(name)).map(({ name }) => ({
      node: name,
      mark: "heir" as const,
    })),
    ...byName(heirs).filter(({ name }) => !paired.has(name)).map(({ name }) => ({
      node: name,
      mark: "donor" as const,
    })),
  ];
  const free = byName(outdated);
  const made: Pair[] = [];
  for (const mint of byName(mints)) {
    const at = free.findIndex(({ group }) => same(group, mint.group));
    const [donor] = at < 0 ? [] : free.splice(at, 1);
    if (donor) made.push({ donor: donor.name, heir: mint.name });
  }
  return { pairs: [...standing, ...made], stale };
}

function byName<T extends { name: string }>(all: readonly T[]): T[] {
  return [...all].sort((a, b) => a.name < b.name ? -1 : 1);
}

// Reads the nodes of a NodeVersion's groups; writes missing annotations.

/** Number of nodes written, or of groups read, concurrently. */
const width = 10;

interface Owned {
  group: string;
  instance: Instance;
}

interface GroupFleet {
  nodes: GroupNode[];
  /** The instances of the groups that were read in the cloud, including groups without nodes. */
  instances: Instance[];
}

/** The parameters of a read of nodes, besides the groups. */
interface FleetQuestion {
  /** Whether the caller needs the instances. */
  isAsked: boolean;
  target: NodeTarget;
  /** The IDs of groups whose rollouts have converged on the target. */
  converged: readonly string[];
  /** The IDs of groups of control planes, whose outdated nodes hold back all workers. */
  controlPlanes: readonly string[];
}

/**
 * Reads all nodes of the groups, and writes missing annotations. A node belongs to the group that its annotation names,
 * or that has its instance. A kubelet can write any group into its Node, so a node without the label of a control plane
 * belongs to a group of control planes only if that group has its instance. Reads the instances of all groups only if
 * the caller needs them, or if a node lacks the annotation of its group or image. Otherwise reads only those of groups
 * that such a node names, and of converged groups in which a node names an image that is not the desired one.
 */
export async function readFleet(
  kube: Cluster,
  groupIds: readonly string[],
  { isAsked, target, converged, controlPlanes }: FleetQuestion,
): Promise<GroupFleet> {
  if (groupIds.length === 0) return { nodes: [], instances: [] };
  const keys = new Set(groupIds.map(groupKeyOf));
  const ended = new Set(converged.map(groupKeyOf));
  const all = await readGroupNodes(kube);
  const isOwn = ({ group }: GroupNode): boolean => keys.has(groupKeyOf(group));
  // The node of a pair of the Constellation node operator keeps its annotations until its pair is taken over.
  const isDoubtful = ({ group, image, heir }: GroupNode): boolean =>
    ended.has(groupKeyOf(group)) && !same(image, target.image) && heir === "";
  const isBare = (node: GroupNode): boolean => node.group === "" || (node.image === "" && isOwn(node));
  const guarded = new Set(controlPlanes.map(groupKeyOf));
  const isClaim = ({ group, isControlPlane }: GroupNode): boolean => !isControlPlane && guarded.has(groupKeyOf(group));
  const isInDoubt = (node: GroupNode): boolean => isDoubtful(node) || isClaim(node);
  const doubted = new Set(all.filter(isInDoubt).map(({ group }) => groupKeyOf(group)));
  const needed = isAsked || all.some(isBare) ? groupIds : groupIds.filter((id) => doubted.has(groupKeyOf(id)));
  const owned = needed.length > 0 ? await readOwned(kube, needed) : [];
  const byId = new Map(owned.map((each) => [each.instance.providerId.toLowerCase(), each]));
  const names = new Set(owned.map(({ instance }) => instance.node));
  const own = all.filter((node) => {
    return isOwn(node) || (node.providerId === "" ? names.has(node.name) : byId.has(node.providerId.toLowerCase()));
  });
  const nodes = await abreast(width, own, (node) => {
    const owned = byId.get(node.providerId.toLowerCase());
    const isForeign = isClaim(node) && groupKeyOf(owned?.group ?? "") !== groupKeyOf(node.group);
    if (isForeign) return Promise.resolve({ ...node, group: owned?.group ?? "" });
    const isUpdated = isDoubtful(node) && owned !== undefined && same(owned.instance.image, target.image);
    return described(kube, node, { owned, isUpdated });
  });
  return { nodes, instances: owned.map(({ instance }) => instance) };
}

async function readOwned(kube: Cluster, groupIds: readonly string[]): Promise<Owned[]> {
  const driver = await kube.cloud.driver();
  const lists = await abreast(width, [...groupIds], async (group) => {
    return (await readInstances(kube, driver, group)).map((instance): Owned => ({ group, instance }));
  });
  return lists.flat();
}

/**
 * Writes the annotations that a node lacks. Changes an existing one only if the instance was updated without Ostler
 * (`isUpdated`): some clouds recreate a machine under its name, so its Node still names the previous image. If the Node
 * has no room for annotations, only the result has them.
 */
async function described(
  kube: Kube,
  node: GroupNode,
  { owned, isUpdated }: { owned: Owned | undefined; isUpdated: boolean },
): Promise<GroupNode> {
  const isComplete = node.group !== "" && node.image !== "" && !isUpdated;
  if (!owned || node.providerId === "" || isComplete) return node;
  const group = node.group || owned.group;
  const image = isUpdated ? owned.instance.image : node.image || owned.instance.image;
  const annotations = { [marks.group]: group, [marks.image]: image };
  const { name, uid } = node;
  const body = { metadata: { uid, annotations } };
  const write = ifFound(kube.core.patchNode({ name, body }, asMergePatch));
  const isThere = await ifRoom(write.then((written) => written !== undefined));
  return isThere === false ? node : { ...node, group, image };
}
