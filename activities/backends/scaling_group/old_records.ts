/** Completes the PendingNodes that the Constellation node operator left; the group's backend owns those of Ostler. */
import type { Cluster } from "../../cluster.ts";
import { groupKeyOf, type Instance, type InstanceState } from "../../clouds/driver.ts";
import { deleteRecord, isOwn } from "./records.ts";
import { type GroupNode, readGroupNodes } from "../../node_version/group_nodes.ts";
import { asMergePatch, type Kube } from "../../kube/client.ts";
import { patchClusterObject } from "../../kube/resources.ts";
import { abreast, ifFound } from "../../kube/status.ts";
import { type PendingNode, pendingNodes } from "../../kube/update_kinds.ts";
import { type NodeTarget, same } from "../../node_version/classify.ts";
import { type MarkedNode, marks } from "../../node_version/marks.ts";
import { readInstances } from "./sight.ts";

/** It has no mark of ours: what ours says of a machine is more than fits its fields. */
export function isOld(record: PendingNode): boolean {
  return !isOwn(record);
}

/** One step with each; gives those that are left. */
export async function tendOldRecords(
  kube: Cluster,
  records: readonly PendingNode[],
  { fleet, target, now, mayTake }: {
    fleet: GroupFleet;
    target: NodeTarget;
    now: number;
    /** Ids of groups of workers. */
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

/** K4: told again each time, as its goal is Leave from now on. */
async function remove(kube: Cluster, { metadata: { name, uid }, spec }: PendingNode, fleet: GroupFleet): Promise<void> {
  // Whoever may write records could name any instance: only those of our groups are removed.
  const isOurs = fleet.instances.some(({ providerId, group, isProtected }) =>
    same(providerId, spec.providerID) && groupKeyOf(group) === groupKeyOf(spec.groupID) && !isProtected
  );
  // The operator deleted a node before its record said Leave: one that serves is taken by no record alone.
  const node = fleet.nodes.find(({ providerId }) => same(providerId, spec.providerID));
  if (node && (node.isReady || node.isControlPlane)) return;
  const driver = await kube.cloud.driver();
  if (isOurs) await driver.remove({ group: spec.groupID, providerId: spec.providerID, shrinks: true });
  if (spec.goal === "Leave") return;
  const body = { metadata: { uid }, spec: { goal: "Leave", deadline: null } };
  await ifFound(patchClusterObject(kube, pendingNodes, { name, body }));
}

// What becomes of a machine that is on its way into a group or out of it, as its PendingNode and the cloud tell; pure.

/** Milliseconds after an order in which a cloud may not show what it makes. */
const graceMs = 120_000;
/** Between looks at one that has no deadline, or has had its time. */
const restMs = 30_000;

export interface PendingFacts {
  goal: "Join" | "Leave";
  /** Epoch ms; none waits as long as it takes. */
  deadline: number | undefined;
  /** When the record was made (epoch ms). */
  since: number;
  /** "Absent" where the cloud knows nothing of it. */
  state: InstanceState | "Absent";
  /** The cloud has shown it before. */
  wasSeen: boolean;
  /** There is a Node of its name. */
  hasNode: boolean;
  /** That node runs what is wanted now. */
  isWanted: boolean;
}

/**
 * Joined: its record has done its work. Gone: so has the record of one that left, or of one that never came. Remove: it is to
 * be removed, again if that was asked before, and its goal is Leave from then on. Wait: until then (epoch ms) at the latest.
 */
type PendingVerdict =
  | { step: "Joined" }
  | { step: "Gone" }
  | { step: "Remove"; why: string; until: number }
  | { step: "Wait"; until: number };

/** Judges one record at a time (epoch ms). */
export function verdictOn(facts: PendingFacts, now: number): PendingVerdict {
  return facts.goal === "Join" ? onJoin(facts, now) : onLeave(facts, now);
}

function onJoin(facts: PendingFacts, now: number): PendingVerdict {
  const { deadline, state, hasNode, isWanted } = facts;
  const until = now + restMs;
  // K12: what was ordered a moment ago may be shown nowhere yet. K11: what is gone before it joined needs no removal.
  if (isGone(facts, now)) return { step: "Gone" };
  // K13: nothing is to be waited for.
  if (state === "Failed") return { step: "Remove", why: "the cloud reports that the instance failed", until };
  // K1: one of an older target has joined all the same, and is replaced like any other old node.
  if (hasNode && state === "Ready") return isWanted ? { step: "Joined" } : { step: "Gone" };
  if (deadline !== undefined && now >= deadline) {
    return { step: "Remove", why: "the machine did not join in time", until };
  }
  return { step: "Wait", until: deadline ?? until };
}

// K7: who leaves has left only when the cloud shows it no more; until then it is asked again.
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

// Which new node replaces which old one, from what is written on both; pure, and the same for the same nodes in any order.

interface Pair {
  donor: string;
  heir: string;
}

export interface Pairing {
  /** Pairs that stand, and those that are made now. */
  pairs: Pair[];
  /** Marks whose partner no longer exists, or belongs to another node. */
  stale: { node: string; mark: "heir" | "donor" }[];
  /** New nodes for which no old one is left in their group. */
  surplus: string[];
}

/** A new node, with the group that it was ordered for. */
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

/** Pairs that are written on both sides stand; then each new node takes the first old one of its group that has none. */
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
  const surplus: string[] = [];
  for (const mint of byName(mints)) {
    const at = free.findIndex(({ group }) => same(group, mint.group));
    const [donor] = at < 0 ? [] : free.splice(at, 1);
    if (donor) made.push({ donor: donor.name, heir: mint.name });
    else surplus.push(mint.name);
  }
  return { pairs: [...standing, ...made], stale, surplus };
}

function byName<T extends { name: string }>(all: readonly T[]): T[] {
  return [...all].sort((a, b) => a.name < b.name ? -1 : 1);
}

// The nodes of a NodeVersion's groups; those that do not bear what they are have it written on them once.

/** Nodes that are written, and groups that are asked, at a time. */
const width = 10;

interface Owned {
  group: string;
  instance: Instance;
}

interface GroupFleet {
  nodes: GroupNode[];
  /** Of all groups, including groups without nodes; empty if the groups were not read. */
  instances: Instance[];
}

/**
 * Reads all nodes of the groups, and writes missing marks. A node belongs to the group whose ID it has, or that has its
 * instance; the cloud lists the instances only if a node has no ID, or if a caller needs them (`isAsked`).
 */
export async function readFleet(
  kube: Cluster,
  groupIds: readonly string[],
  { isAsked }: { isAsked: boolean },
): Promise<GroupFleet> {
  if (groupIds.length === 0) return { nodes: [], instances: [] };
  const keys = new Set(groupIds.map(groupKeyOf));
  const all = await readGroupNodes(kube);
  const isOwn = ({ group }: GroupNode): boolean => keys.has(groupKeyOf(group));
  const isSilent = all.some(({ group, image }) => group === "" || (keys.has(groupKeyOf(group)) && image === ""));
  const owned = isAsked || isSilent ? await readOwned(kube, groupIds) : [];
  const byId = new Map(owned.map((each) => [each.instance.providerId.toLowerCase(), each]));
  const names = new Set(owned.map(({ instance }) => instance.node));
  const own = all.filter((node) => {
    return isOwn(node) || (node.providerId === "" ? names.has(node.name) : byId.has(node.providerId.toLowerCase()));
  });
  const nodes = await abreast(width, own, (node) => described(kube, node, byId.get(node.providerId.toLowerCase())));
  return { nodes, instances: owned.map(({ instance }) => instance) };
}

async function readOwned(kube: Cluster, groupIds: readonly string[]): Promise<Owned[]> {
  const driver = await kube.cloud.driver();
  const lists = await abreast(width, [...groupIds], async (group) => {
    return (await readInstances(kube, driver, group)).map((instance): Owned => ({ group, instance }));
  });
  return lists.flat();
}

/** N1 to N6: written where it is missing, and never again; what a node says already is believed. */
async function described(kube: Kube, node: GroupNode, owned: Owned | undefined): Promise<GroupNode> {
  if (!owned || node.providerId === "" || (node.group !== "" && node.image !== "")) return node;
  const group = node.group || owned.group;
  const image = node.image || owned.instance.image;
  const annotations = { [marks.group]: group, [marks.image]: image };
  const { name, uid } = node;
  const isThere = await ifFound(kube.core.patchNode({ name, body: { metadata: { uid, annotations } } }, asMergePatch));
  return isThere ? { ...node, group, image } : node;
}
