/** Reads the facts about nodes that the backend of NodePools needs; one watch per process keeps them up to date. */
import type { Cluster } from "../../cluster.ts";
import { z } from "zod";
import type { Kube } from "../../kube/client.ts";
import { allPages, type ListPage, type Resource, time } from "../../kube/resources.ts";
import type { SharedWatch } from "../../kube/informer.ts";
import { ifFound } from "../../kube/status.ts";
import { cordonedByAnnotation } from "../../node/cordon.ts";
import { isControlPlane, kubeletOf } from "../../node/node_facts.ts";
import { type Lock, lockOf } from "./lock.ts";
import { type Note, noteOf } from "./note.ts";

export interface PoolNode {
  name: string;
  uid: string;
  labels: Record<string, string>;
  /** Creation time of the Node (RFC 3339). */
  createdAt: string;
  bootId: string;
  /** Machine ID of the node: 32 hex digits, as in systemd. */
  machineId: string;
  kubelet: string;
  isReady: boolean;
  isControlPlane: boolean;
  /** The pool or rollout of Ostler that cordoned the node; "" without one. */
  cordonedBy: string;
  note: Note;
  /** The lock to reboot that the node requests or holds. */
  lock: Lock | undefined;
}

const texts = z.record(z.string(), z.string()).nullish().transform((value) => value ?? {});

/** Parses a Node from the API server or from a watch. */
export const poolNode: z.ZodType<PoolNode> = z.object({
  metadata: z.object({
    ...{ name: z.string(), uid: z.string().default(""), labels: texts, annotations: texts },
    creationTimestamp: time.default(""),
  }),
  status: z.object({
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish(),
    nodeInfo: z.object({
      machineID: z.string().default(""),
      bootID: z.string().default(""),
      kubeletVersion: z.string().default(""),
    }).nullish(),
  }).nullish(),
}).transform(({ metadata: { name, uid, labels, annotations, creationTimestamp }, status }) => ({
  ...{ name, uid, labels, createdAt: creationTimestamp },
  bootId: status?.nodeInfo?.bootID ?? "",
  machineId: status?.nodeInfo?.machineID ?? "",
  kubelet: kubeletOf(status?.nodeInfo?.kubeletVersion),
  isReady: (status?.conditions ?? []).some((each) => each.type === "Ready" && each.status === "True"),
  isControlPlane: isControlPlane({ metadata: { labels } }),
  cordonedBy: annotations[cordonedByAnnotation] ?? "",
  note: noteOf(annotations),
  lock: lockOf(annotations),
}));

const nodes: Resource<PoolNode> = { group: "", version: "v1", plural: "nodes", schema: poolNode };

/** Returns the watch of all nodes in this process, which the first caller starts. */
export function poolNodesOf(kube: Cluster): SharedWatch<PoolNode> {
  return kube.watches.of(nodes);
}

/** Returns all nodes from the watch; lists them while the watch is not up to date. */
export async function readPoolNodes(kube: Cluster): Promise<PoolNode[]> {
  const watch = poolNodesOf(kube);
  watch.ask();
  return watch.isFresh ? [...watch.values()] : await kube.cache.read("nodes of node pools", () => listNodes(kube));
}

/** Reads one node; undefined if it does not exist. */
export async function readPoolNode(kube: Cluster, name: string): Promise<PoolNode | undefined> {
  const answer: unknown = await ifFound(kube.core.readNode({ name }));
  return answer === undefined ? undefined : poolNode.parse(JSON.parse(JSON.stringify(answer)));
}

/** Reads whether a node is Ready, and when its kubelet last reported this; the time is undefined if it never did. */
export async function readHeartbeat(
  kube: Kube,
  name: string,
): Promise<{ isReady: boolean; heartbeat: string | undefined }> {
  const node = await ifFound(kube.core.readNode({ name }));
  const { status, lastHeartbeatTime: at } = node?.status?.conditions?.find(({ type }) => type === "Ready") ?? {};
  return { isReady: status === "True", heartbeat: at && new Date(at).toISOString() };
}

async function listNodes(kube: Cluster): Promise<PoolNode[]> {
  return await allPages(async (page) => {
    const answer: unknown = await kube.core.listNode(page);
    const { items = [], metadata = {} } = JSON.parse(JSON.stringify(answer)) as ListPage<unknown>;
    return { metadata, items: items.map((item) => poolNode.parse(item)) };
  });
}
