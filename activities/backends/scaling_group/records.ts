/**
 * PendingNodes as the records of a scaling group: one for each ordered machine, and one for each machine to be removed.
 */
import { createHash } from "node:crypto";
import type { Cluster } from "../../cluster.ts";
import type { Kube } from "../../kube/client.ts";
import { deleteClusterObject, listClusterObjects, patchClusterObject } from "../../kube/resources.ts";
import { ifFound } from "../../kube/status.ts";
import { type PendingNode, pendingNodes } from "../../kube/update_kinds.ts";
import { groupKeyOf, type Instance } from "../../clouds/driver.ts";

/** Facts for which a PendingNode has no field. */
export const recordAnnotations = {
  /** ID of the ordered machine; missing if the record has that ID as its name. */
  machine: "ostler.dev/machine",
  /** The machine that the ordered machine replaces. */
  donor: "ostler.dev/donor",
  /** Labels, annotations and taints that the new node takes over from the old node, as JSON. */
  inheritance: "ostler.dev/inheritance",
  /** The hash of the machine's target: its image and components. */
  target: "ostler.dev/target",
  /**
   * "true" if the ordered machine was removed outside of Ostler: the group then created another one, and stays one
   * larger until the machine to be replaced is removed.
   */
  vanished: "ostler.dev/vanished",
  /**
   * "true" if the replaced machine was removed first and made the group smaller by one, so that the declared size now
   * counts the ordered machine.
   */
  settled: "ostler.dev/settled",
  /** Time of the withdrawal of an order with an unknown outcome (RFC 3339). */
  givenUp: "ostler.dev/given-up",
  /** The zone of the machine that the ordered machine replaces. */
  zone: "ostler.dev/zone",
  /** The driver's record of its attempts to order the machine (the journal). */
  attempt: "ostler.dev/attempt",
  /** The lack of capacity that the cloud reports. */
  trouble: "ostler.dev/trouble",
  /** The ID (`Member.id`) of a machine to be removed. */
  member: "ostler.dev/member",
  /** "true" if the removal makes the group smaller by one, "false" if the group replaces the machine. */
  shrinks: "ostler.dev/shrinks",
} as const;

/** Keeps a record until Ostler has completed it. */
export const recordFinalizer = "ostler.dev/pending-node";

/** Suffix of the name of a removal's record, because the machine may also have the record of its order. */
const goingSuffix = ".going";

/** The order of one machine. */
export interface Order {
  /** The token, which is also the name of its record; for an order of another operator, the ID of the machine. */
  id: string;
  uid: string;
  goal: "Join" | "Leave";
  /** Provider ID of the ordered instance; "" while unknown. */
  providerId: string;
  donor: string | undefined;
  /** The zone of the replaced machine; undefined lets the cloud choose. */
  zone: string | undefined;
  /** The hash of the machine's target; "" for an order of the Constellation node operator. */
  target: string;
  trouble: string;
  /** The driver's record of its attempts to order the machine (the journal). */
  journal: string;
  /** Whether the ordered machine was removed outside of Ostler. */
  isVanished: boolean;
  /** Whether the declared size now counts the machine, because the replaced machine was removed first. */
  isSettled: boolean;
  /** Whether the machine has joined: its node was Ready and has got its inheritance. */
  isDone: boolean;
  /** Creation time of the record (RFC 3339). */
  since: string;
  /** Time of the order or of its withdrawal (RFC 3339), after which the cloud may be late to show the instance. */
  lastTried: string;
  record: PendingNode;
}

/** The removal of one machine. */
export interface Removal {
  /** The machine to be removed. */
  member: string;
  providerId: string;
  shrinks: boolean;
  record: PendingNode;
}

/** All records of a group. */
export interface Records {
  orders: Order[];
  removals: Removal[];
}

/** Maximum length of the name of an object. */
const longestName = 253;

/**
 * Returns the name of the record of a removal, with the group, because machines of two groups may have the same ID; a
 * hash of both if the name would be too long.
 */
export function removalName(group: string, member: string): string {
  const name = `${group}.${member}`.toLowerCase();
  const isLong = name.length + goingSuffix.length > longestName;
  return `${isLong ? createHash("sha256").update(name).digest("hex") : name}${goingSuffix}`;
}

/** Reads all records of a group, once for concurrent callers. */
export async function readRecords(kube: Cluster, group: string): Promise<Records> {
  const all = await kube.cache.read("pending nodes", () => listClusterObjects(kube, pendingNodes));
  const own = all.filter(({ spec }) => groupKeyOf(spec.groupID) === groupKeyOf(group));
  return {
    orders: own.filter((record) => !isRemoval(record)).map(orderOf),
    removals: own.filter(isRemoval).map(removalOf),
  };
}

/**
 * Returns whether Ostler created a record: it has a finalizer or annotations that the Constellation node operator did
 * not write.
 */
export function isOwn({ metadata: { annotations = {}, finalizers = [] } }: PendingNode): boolean {
  return finalizers.includes(recordFinalizer) || annotations[recordAnnotations.target] !== undefined ||
    annotations[recordAnnotations.member] !== undefined;
}

function isRemoval(record: PendingNode): boolean {
  return removedBy(record) !== undefined;
}

/** Returns the machine of a removal, by its annotation or its name; undefined for an order. */
function removedBy(
  { metadata: { name, annotations = {}, finalizers = [], ownerReferences = [] } }: PendingNode,
): string | undefined {
  const told = annotations[recordAnnotations.member];
  if (told !== undefined || !finalizers.includes(recordFinalizer)) return told;
  const start = `${ownerReferences[0]?.name ?? ""}.`.toLowerCase();
  const isOfGroup = name.startsWith(start) && name.endsWith(goingSuffix);
  return isOfGroup ? name.slice(start.length, -goingSuffix.length) : undefined;
}

/**
 * Returns the order that a record describes; a record of the Constellation node operator has no annotations and names
 * only the instance.
 */
export function orderOf(record: PendingNode): Order {
  const { metadata: { name, uid, annotations = {}, creationTimestamp }, spec, status } = record;
  return {
    ...{
      id: annotations[recordAnnotations.machine] ?? name,
      uid,
      goal: spec.goal ?? "Join",
      providerId: spec.providerID,
      record,
    },
    donor: annotations[recordAnnotations.donor],
    zone: annotations[recordAnnotations.zone],
    target: annotations[recordAnnotations.target] ?? "",
    trouble: annotations[recordAnnotations.trouble] ?? "",
    journal: annotations[recordAnnotations.attempt] ?? "",
    isVanished: annotations[recordAnnotations.vanished] === "true",
    isSettled: annotations[recordAnnotations.settled] === "true",
    isDone: status?.reachedGoal ?? false,
    since: creationTimestamp,
    lastTried: pastTime(annotations[recordAnnotations.givenUp]) ?? creationTimestamp,
  };
}

/** Returns a text that is a time in the past; undefined for any other text, because users can edit it. */
function pastTime(text = ""): string | undefined {
  return Date.parse(text) <= Date.now() ? text : undefined;
}

/** Returns the removal that a record describes. */
export function removalOf(record: PendingNode): Removal {
  const { metadata: { annotations = {} }, spec } = record;
  return {
    member: removedBy(record) ?? "",
    providerId: spec.providerID,
    shrinks: annotations[recordAnnotations.shrinks] === "true",
    record,
  };
}

/** Returns whether an instance exists and is not being deleted. */
export function isAlive(instance: Instance | undefined): instance is Instance {
  return instance !== undefined && instance.state !== "Terminating" && instance.state !== "Terminated";
}

/** Returns whether an instance has this provider ID, in upper or lower case. */
export function isOf(providerId: string, instance: Instance): boolean {
  return providerId !== "" && providerId.toLowerCase() === instance.providerId.toLowerCase();
}

/** Deletes a record and removes its finalizer; either may have been done already. */
export async function deleteRecord(
  kube: Kube,
  { metadata: { name, uid, finalizers = [] } }: PendingNode,
): Promise<void> {
  await ifFound(deleteClusterObject(kube, pendingNodes, { name, uid }));
  const left = finalizers.filter((each) => each !== recordFinalizer);
  if (left.length === finalizers.length) return;
  await ifFound(patchClusterObject(kube, pendingNodes, { name, body: { metadata: { uid, finalizers: left } } }));
}
