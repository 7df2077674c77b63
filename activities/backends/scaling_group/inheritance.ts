/**
 * The inheritance of a machine: the labels, annotations and taints of its node that the node of its replacement takes
 * over. It is read before the machine is removed, and kept as JSON until it is written on the new node.
 */
import type { Cluster } from "../../cluster.ts";
import type { V1Node } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import { z } from "zod";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Instance } from "../../clouds/driver.ts";
import { ifFound } from "../../kube/status.ts";
import { keptByAnnotation, scaleDownDisabledAnnotation } from "../../node/cordon.ts";
import { passingTaints } from "../../node/node_facts.ts";
import { handOverFor, type HandOverRules } from "../../policy/hand_over_for.ts";
import type { Asked, CloudSight } from "./sight.ts";

const texts = z.record(z.string(), z.string()).default({});
const Inheritance: z.ZodType<Inheritance> = z.object({
  labels: texts,
  annotations: texts,
  taints: z.array(z.object({ key: z.string(), value: z.string().optional(), effect: z.string() })).default([]),
}).transform(({ taints, ...rest }) => ({
  ...rest,
  taints: taints.map(({ key, value, effect }) => ({ key, effect, ...(value === undefined ? {} : { value }) })),
}));

/** Returns the inheritance of a machine by the current rules of its RolloutPolicy; undefined if it has no node. */
export async function inheritanceFor(
  kube: Cluster,
  { pool, asked, seen }: { pool: PoolRef; asked: Asked; seen: CloudSight },
  donor: Instance,
): Promise<Inheritance | undefined> {
  const name = seen.nodes.get(donor.providerId.toLowerCase())?.name;
  const node = name === undefined ? undefined : await ifFound(kube.core.readNode({ name }));
  return node && inheritanceOf(bearing(node), await rulesOf(kube, pool, asked));
}

async function rulesOf(kube: Cluster, { namespace, name }: PoolRef, { group }: Asked): Promise<HandOverRules> {
  const labels = group.metadata.labels ?? {};
  return await handOverFor(kube, { metadata: { namespace, name, labels } });
}

/**
 * Parses a recorded inheritance; an unreadable one is empty, because users can edit it. Taints of one instance, which
 * records of earlier versions contain, are left out.
 */
export function keptFrom(kept: unknown): Inheritance {
  const read = Inheritance.safeParse(kept).data ?? { labels: {}, annotations: {}, taints: [] };
  return { ...read, taints: read.taints.filter(isHandedOver) };
}

/** Returns all labels, annotations and taints of a node, from which the rules select the inheritance. */
export function bearing({ metadata, spec }: V1Node): Inheritance {
  return Inheritance.parse({
    labels: metadata?.labels ?? {},
    annotations: metadata?.annotations ?? {},
    taints: (spec?.taints ?? []).map(({ key, value, effect }) => ({ key, value, effect })),
  });
}

/** Labels, annotations and taints of an old node for its new node. */
export interface Inheritance {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  taints: Taint[];
}

interface Taint {
  key: string;
  value?: string;
  effect: string;
}

/** The changes that give a new node its inheritance; empty if the node has all of it. */
interface HandOver {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  /** All taints after the change; missing if none is added. */
  taints?: Taint[];
}

/**
 * Taints that are not handed over, because they concern one instance and not its role. The controller that sets such a
 * taint may never remove it from the new node, and a user marks only a dead node as out of service.
 */
const notHandedOver = [
  ...passingTaints,
  ...["unschedulable", "out-of-service", "disk-pressure", "memory-pressure", "pid-pressure"]
    .map((name) => `node.kubernetes.io/${name}`),
  ...["node.cloudprovider.kubernetes.io/shutdown", "cloud.google.com/impending-node-termination"],
  ...["ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler", "NodeWithImpairedVolumes"],
  // The Constellation node operator drains a node by a NodeMaintenance, whose operator taints it.
  ...["medik8s.io/drain", "kubevirt.io/drain", "medik8s.io/remediation"],
];
/** The same by pattern: temporary taints of cluster-autoscaler, of starting agents, and of instances that AWS ends. */
const passingPatterns = [
  /^(ignore|startup|status)-taint\.cluster-autoscaler\.kubernetes\.io\//,
  ...[/\/agent-not-ready$/, /^aws-node-termination-handler\//],
];

function isHandedOver({ key }: Taint): boolean {
  return !notHandedOver.includes(key) && !passingPatterns.some((pattern) => pattern.test(key));
}

/** Domains whose labels are not handed over, because Kubernetes and its controllers write them. */
const reserved = ["kubernetes.io", "k8s.io"];

/** Returns what an old node hands over to its new node. */
export function inheritanceOf(donor: Inheritance, rules: HandOverRules): Inheritance {
  const isKept = (key: string): boolean => !isReserved(key) || rules.reservedDomains.includes(domainOf(key));
  // The annotations by which Ostler protected the old node from scale-down are left out, because nothing would remove
  // them from the new node.
  const own = donor.annotations[keptByAnnotation] === undefined ? [] : [keptByAnnotation, scaleDownDisabledAnnotation];
  return withinLimit({
    labels: rules.labels ? pick(donor.labels, (key) => isKept(key) && !isName(donor, key)) : {},
    annotations: pick(donor.annotations, (key) => rules.annotations.includes(key) && !own.includes(key)),
    taints: rules.taints ? donor.taints.filter(isHandedOver) : [],
  });
}

/**
 * Maximum bytes of an inheritance as JSON. A node may write any number of labels on its own Node, but the API server
 * accepts only 256 KiB of annotations, so a compromised node could otherwise prevent its replacement.
 */
const mostBytes = 32 * 1024;

/** Returns the part within `mostBytes`: first taints, then annotations, then labels, each of the latter by key. */
function withinLimit(kept: Inheritance): Inheritance {
  if (bytesOf(kept) <= mostBytes) return kept;
  let left = mostBytes;
  const take = (part: unknown): boolean => {
    const bytes = bytesOf(part);
    if (bytes > left) return false;
    left -= bytes;
    return true;
  };
  const takeTexts = (texts: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).sort(([one], [other]) => one < other ? -1 : 1).filter(take));
  const taints = kept.taints.filter(take);
  const annotations = takeTexts(kept.annotations);
  return { taints, annotations, labels: takeTexts(kept.labels) };
}

function bytesOf(part: unknown): number {
  return Buffer.byteLength(JSON.stringify(part));
}

/**
 * Returns the changes to the new node: for the same key the old node's value replaces the new node's, everything else
 * stays.
 */
export function handOver(kept: Inheritance, heir: Inheritance): HandOver {
  const isSame = (one: Taint, other: Taint): boolean => one.key === other.key && one.effect === other.effect;
  const missing = kept.taints.filter((taint) =>
    !heir.taints.some((has) => isSame(has, taint) && (has.value ?? "") === (taint.value ?? ""))
  );
  const others = heir.taints.filter((has) => !missing.some((taint) => isSame(has, taint)));
  return {
    labels: differing(kept.labels, heir.labels),
    annotations: differing(kept.annotations, heir.annotations),
    ...(missing.length > 0 ? { taints: [...others, ...missing] } : {}),
  };
}

function differing(wanted: Record<string, string>, has: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => has[key] !== value));
}

function pick(from: Record<string, string>, isKept: (key: string) => boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(from).filter(([key]) => isKept(key)));
}

// Kubelets write the topology of CSI drivers into labels of a domain that begins with "topology.". A kubelet refuses a
// driver whose topology differs from such a label, and a pod would wait for a volume in the zone of the old node.
function isReserved(key: string): boolean {
  const domain = domainOf(key);
  return domain.startsWith("topology.") || reserved.some((each) => domain === each || domain.endsWith(`.${each}`));
}

/** Returns whether a label has the name of its node as its value, as the topology of local volumes has. */
function isName({ labels }: Inheritance, key: string): boolean {
  return labels[key] !== "" && labels[key] === labels["kubernetes.io/hostname"];
}

function domainOf(key: string): string {
  return key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
}
