/** Nodes as the backend of NodePools needs them, kept up to date by one watch for all pools of a process. */
import type { Cluster } from "../../cluster.ts";
import { z } from "zod";
import { allPages, type ListPage, type Resource } from "../../kube/resources.ts";
import type { SharedWatch } from "../../kube/informer.ts";
import { ifFound } from "../../kube/status.ts";
import { cordonedByAnnotation } from "../../node/cordon.ts";
import { type Lock, lockOf } from "./lock.ts";
import { type Note, noteOf } from "./note.ts";

export interface PoolNode {
  name: string;
  uid: string;
  labels: Record<string, string>;
  /** RFC 3339. */
  createdAt: string;
  bootId: string;
  /** As systemd has it: 32 hex digits. */
  machineId: string;
  kubelet: string;
  isReady: boolean;
  isControlPlane: boolean;
  /** Who of us cordoned it; "" for nobody of us. */
  cordonedBy: string;
  note: Note;
  /** That it asks for, or holds, a place to reboot by itself. */
  lock: Lock | undefined;
}

const texts = z.record(z.string(), z.string()).nullish().transform((value) => value ?? {});
const time = z.union([z.string(), z.date()]).transform((value) => new Date(value).toISOString());

/** Labels by which a cluster knows its control planes; the second one until Kubernetes 1.24. */
const controlPlaneLabels = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/** A Node as the API server gives it, and as a watch does. */
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
  kubelet: status?.nodeInfo?.kubeletVersion ?? "",
  isReady: (status?.conditions ?? []).some((each) => each.type === "Ready" && each.status === "True"),
  isControlPlane: controlPlaneLabels.some((label) => label in labels),
  cordonedBy: annotations[cordonedByAnnotation] ?? "",
  note: noteOf(annotations),
  lock: lockOf(annotations),
}));

const nodes: Resource<PoolNode> = { group: "", version: "v1", plural: "nodes", schema: poolNode };

/** The watch of a process on them; it begins when somebody asks. */
export function poolNodesOf(kube: Cluster): SharedWatch<PoolNode> {
  return kube.watches.of(nodes);
}

/** All nodes; from a list while there is no watch that is up to date. */
export async function readPoolNodes(kube: Cluster): Promise<PoolNode[]> {
  const watch = poolNodesOf(kube);
  watch.ask();
  return watch.isFresh ? [...watch.values()] : await kube.cache.read("nodes of node pools", () => listNodes(kube));
}

/** One node as it is now; undefined when there is none. */
export async function readPoolNode(kube: Cluster, name: string): Promise<PoolNode | undefined> {
  const answer: unknown = await ifFound(kube.core.readNode({ name }));
  return answer === undefined ? undefined : poolNode.parse(JSON.parse(JSON.stringify(answer)));
}

async function listNodes(kube: Cluster): Promise<PoolNode[]> {
  return await allPages(async (page) => {
    const answer: unknown = await kube.core.listNode(page);
    const { items = [], metadata = {} } = JSON.parse(JSON.stringify(answer)) as ListPage<unknown>;
    return { metadata, items: items.map((item) => poolNode.parse(item)) };
  });
}
