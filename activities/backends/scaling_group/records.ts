/** PendingNodes as what they are to a scaling group: an order that was given, or a machine that was told to go. */
import type { Cluster } from "../../cluster.ts";
import type { Kube } from "../../kube/client.ts";
import { deleteClusterObject, listClusterObjects, patchClusterObject } from "../../kube/resources.ts";
import { ifFound } from "../../kube/status.ts";
import { type PendingNode, pendingNodes } from "../../kube/update_kinds.ts";
import { groupKeyOf, type Instance } from "../../clouds/driver.ts";

/** What is not among the fields of a PendingNode, and would be lost there. */
export const recordAnnotations = {
  /** The member that goes for this one. */
  donor: "ostler.dev/donor",
  /** What of the donor the newcomer takes over, as JSON. */
  inheritance: "ostler.dev/inheritance",
  /** The hash of what it was ordered to run. */
  target: "ostler.dev/target",
  /** "true" for one that somebody took away: the group has made another, above the number until the donor goes. */
  vanished: "ostler.dev/vanished",
  /** "true" for one whose place is its own by now, as the one it came for went with another. */
  settled: "ostler.dev/settled",
  /** When it was given up before anybody knew what came of it: RFC 3339. */
  givenUp: "ostler.dev/given-up",
  /** Why the cloud has no room for it. */
  trouble: "ostler.dev/trouble",
  /** The id by which the planner knows a machine that goes. */
  member: "ostler.dev/member",
  /** "true" for one whose place in the group goes with it. */
  shrinks: "ostler.dev/shrinks",
} as const;

/** A record stays until we are done with it, whoever deletes it. */
export const recordFinalizer = "ostler.dev/pending-node";

/** Of a member that was told to go, beside the one by which it came. */
const goingSuffix = ".going";

export interface Order {
  /** The token, and the name of its record. */
  id: string;
  uid: string;
  goal: "Join" | "Leave";
  /** The instance that came of it; "" while nobody knows. */
  providerId: string;
  donor: string | undefined;
  /** The hash of what it was ordered to run; "" for one of the operator of before. */
  target: string;
  trouble: string;
  /** Somebody took its machine away. */
  isVanished: boolean;
  /** Its place is its own: the one that it came for went with another. */
  isSettled: boolean;
  /** Its node was Ready, and has taken over what it had to. */
  isDone: boolean;
  /** RFC 3339. */
  since: string;
  /** From when on a cloud that shows nothing of it may still be late (RFC 3339). */
  lastTried: string;
  record: PendingNode;
}

export interface Removal {
  /** The member that goes. */
  member: string;
  providerId: string;
  shrinks: boolean;
  record: PendingNode;
}

export interface Records {
  orders: Order[];
  removals: Removal[];
}

/** Name of the record of a member that was told to go; members of two groups may have one id. */
export function removalName(group: string, member: string): string {
  return `${group}.${member}${goingSuffix}`.toLowerCase();
}

/** All of a group; read once for all who ask at a time. */
export async function readRecords(kube: Cluster, group: string): Promise<Records> {
  const all = await kube.cache.read("pending nodes", () => listClusterObjects(kube, pendingNodes));
  const own = all.filter(({ spec }) => groupKeyOf(spec.groupID) === groupKeyOf(group));
  return {
    orders: own.filter((record) => !isRemoval(record)).map(orderOf),
    removals: own.filter(isRemoval).map(removalOf),
  };
}

/** Whether it is one of ours, whatever somebody has taken off it: those of the operator of before have no finalizer. */
export function isOwn({ metadata: { annotations = {}, finalizers = [] } }: PendingNode): boolean {
  return finalizers.includes(recordFinalizer) || annotations[recordAnnotations.target] !== undefined ||
    annotations[recordAnnotations.member] !== undefined;
}

function isRemoval(record: PendingNode): boolean {
  return removedBy(record) !== undefined;
}

/** The member that goes by it, if one does: annotations can be taken off, its name stays. */
function removedBy(
  { metadata: { name, annotations = {}, finalizers = [], ownerReferences = [] } }: PendingNode,
): string | undefined {
  const told = annotations[recordAnnotations.member];
  if (told !== undefined || !finalizers.includes(recordFinalizer)) return told;
  const start = `${ownerReferences[0]?.name ?? ""}.`.toLowerCase();
  const isOfGroup = name.startsWith(start) && name.endsWith(goingSuffix);
  return isOfGroup ? name.slice(start.length, -goingSuffix.length) : undefined;
}

/** A record of the operator of before has no annotation of ours: it stands for its node, by its instance. */
export function orderOf(record: PendingNode): Order {
  const { metadata: { name, uid, annotations = {}, creationTimestamp }, spec, status } = record;
  return {
    ...{ id: name, uid, goal: spec.goal ?? "Join", providerId: spec.providerID, record },
    donor: annotations[recordAnnotations.donor],
    target: annotations[recordAnnotations.target] ?? "",
    trouble: annotations[recordAnnotations.trouble] ?? "",
    isVanished: annotations[recordAnnotations.vanished] === "true",
    isSettled: annotations[recordAnnotations.settled] === "true",
    isDone: status?.reachedGoal ?? false,
    since: creationTimestamp,
    lastTried: pastTime(annotations[recordAnnotations.givenUp]) ?? creationTimestamp,
  };
}

/** A time that has been; anybody may write there. */
function pastTime(text = ""): string | undefined {
  return Date.parse(text) <= Date.now() ? text : undefined;
}

export function removalOf(record: PendingNode): Removal {
  const { metadata: { annotations = {} }, spec } = record;
  return {
    member: removedBy(record) ?? "",
    providerId: spec.providerID,
    shrinks: annotations[recordAnnotations.shrinks] === "true",
    record,
  };
}

/** Whether an instance is there, and to stay. */
export function isAlive(instance: Instance | undefined): instance is Instance {
  return instance !== undefined && instance.state !== "Terminating" && instance.state !== "Terminated";
}

/** Whether a provider id is that of an instance, in whatever case. */
export function isOf(providerId: string, instance: Instance): boolean {
  return providerId !== "" && providerId.toLowerCase() === instance.providerId.toLowerCase();
}

/** Takes our finalizer off and deletes it, in whatever order somebody else did that. */
export async function deleteRecord(
  kube: Kube,
  { metadata: { name, uid, finalizers = [] } }: PendingNode,
): Promise<void> {
  await ifFound(deleteClusterObject(kube, pendingNodes, { name, uid }));
  const left = finalizers.filter((each) => each !== recordFinalizer);
  if (left.length === finalizers.length) return;
  await ifFound(patchClusterObject(kube, pendingNodes, { name, body: { metadata: { uid, finalizers: left } } }));
}
