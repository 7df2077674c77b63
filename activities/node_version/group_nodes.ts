/** Nodes of scaling groups: their instance, what they run, and whether Ostler chose them for replacement. */
import type { Cluster } from "../cluster.ts";
import type { Kube } from "../kube/client.ts";
import { z } from "zod";
import { allPages, type ListPage, type Resource } from "../kube/resources.ts";
import type { SharedWatch } from "../kube/informer.ts";
import { cordonedByAnnotation, keptByAnnotation, scaleDownDisabledAnnotation } from "../node/cordon.ts";
import { MarkedNode } from "./marks.ts";

/** Annotation of an old node: the pool that chose it for replacement, in the format of `holderOf`. */
export const chosenAnnotation = "ostler.dev/chosen-by";
/** Annotation of a new node that replaces another node: the ID of the replaced machine. */
export const heirAnnotation = "ostler.dev/heir-of";

/** A node of a scaling group. */
export interface GroupNode extends MarkedNode {
  uid: string;
  /** The pool that chose the node for replacement, in the format of `holderOf`; "" without one. */
  chosenBy: string;
  /** The ID of the machine that the node replaces; "" without one. */
  heirOf: string;
  /** Whether an annotation keeps autoscalers from removing the node. */
  isKept: boolean;
  /** The pool that keeps autoscalers from removing the node, in the format of `holderOf`; "" without one. */
  keptBy: string;
  /** The pool or upgrade for which Ostler cordoned the node, in the format of `holderOf`; "" without one. */
  cordonedBy: string;
  /** The version that the node's kubelet reports; "" before the first report. */
  kubelet: string;
  isReady: boolean;
  /** Creation time of the Node (epoch ms); 0 if unknown. */
  createdAt: number;
  /** Addresses of type InternalIP, in the order of the Node's status. */
  addresses: string[];
}

const texts = z.record(z.string(), z.string()).default({});

const Facts = z.object({
  metadata: z.object({ uid: z.string().default(""), annotations: texts, creationTimestamp: z.unknown() }),
  status: z.object({
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
    addresses: z.array(z.object({ type: z.string(), address: z.string() })).default([]),
    nodeInfo: z.object({ kubeletVersion: z.string().default("") }).prefault({}),
  }).prefault({}),
}).transform(({ metadata: { uid, annotations, creationTimestamp }, status }) => ({
  uid,
  chosenBy: annotations[chosenAnnotation] ?? "",
  heirOf: annotations[heirAnnotation] ?? "",
  isKept: annotations[scaleDownDisabledAnnotation] !== undefined,
  keptBy: annotations[keptByAnnotation] ?? "",
  cordonedBy: annotations[cordonedByAnnotation] ?? "",
  kubelet: status.nodeInfo.kubeletVersion,
  createdAt: Date.parse(String(creationTimestamp)) || 0,
  isReady: status.conditions.some(({ type, status }) => type === "Ready" && status === "True"),
  addresses: status.addresses.filter(({ type }) => type === "InternalIP").map(({ address }) => address),
}));

const GroupNode: z.ZodType<GroupNode> = z.unknown().transform((node) => ({
  ...MarkedNode.parse(node),
  ...Facts.parse(node),
}));

const groupNodes: Resource<GroupNode> = { group: "", version: "v1", plural: "nodes", schema: GroupNode };

/** Returns the watch of all nodes that all callers in this process share. */
export function groupNodesOf(kube: Cluster): SharedWatch<GroupNode> {
  return kube.watches.of(groupNodes);
}

/** Returns all nodes: from the shared watch if it is up to date, else from a list request. */
export async function readGroupNodes(kube: Cluster): Promise<GroupNode[]> {
  const watch = groupNodesOf(kube);
  watch.ask();
  return watch.isFresh ? [...watch.values()] : await kube.cache.read("nodes of groups", () => listGroupNodes(kube));
}

/** The nodes of instances by provider ID in lower case. */
interface InstanceNodes {
  nodes: Map<string, GroupNode>;
  /**
   * Names of nodes that share a provider ID. These nodes are not in `nodes`, because any of them may be the node of the
   * instance.
   */
  twins: Map<string, string[]>;
}

/** Returns all nodes that have a provider ID, by that ID. */
export async function nodesByInstance(kube: Cluster): Promise<InstanceNodes> {
  const found: InstanceNodes = { nodes: new Map(), twins: new Map() };
  for (const [id, nodes] of Map.groupBy(await readGroupNodes(kube), ({ providerId }) => providerId.toLowerCase())) {
    if (id === "") continue;
    const [node, other] = nodes;
    if (node && !other) found.nodes.set(id, node);
    else found.twins.set(id, nodes.map(({ name }) => name).sort());
  }
  return found;
}

/** Returns all nodes from a list, without a watch. */
export async function listGroupNodes(kube: Kube): Promise<GroupNode[]> {
  return await allPages(async (page) => {
    const answer: unknown = await kube.core.listNode(page);
    const { items = [], metadata = {} } = JSON.parse(JSON.stringify(answer)) as ListPage<unknown>;
    return { metadata, items: items.map((item) => GroupNode.parse(item)) };
  });
}
