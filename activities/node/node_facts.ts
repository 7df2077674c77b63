/** The facts about a Node that decide about its machine. */
import type { V1ManagedFieldsEntry, V1Node, V1NodeCondition } from "@kubernetes/client-node";
import { abreast, ifFound } from "../kube/status.ts";
import type { Kube } from "../kube/client.ts";

export interface NodeFacts {
  name: string;
  /** Missing until a controller, such as the one of the cloud, has set it. */
  providerId?: string;
  ready: boolean;
  /** False while the node's kubelet sends no heartbeats, because it is down or has no network. */
  reachable: boolean;
  /** The reason of the node's condition Ready, which does not change while the cause is the same. */
  readyReason: string;
  readyMessage: string;
  /** Keys of the taints with which the cluster keeps pods off a node until it is initialised. */
  initialising: string[];
  kubelet: string;
  /** Epoch ms of the last transition of the condition Ready, by the clock of the API server. */
  since: number;
  /** Value of the node's label `topology.kubernetes.io/zone`. */
  zone?: string;
  conditions: NodeCondition[];
}

export interface NodeCondition {
  type: string;
  status: string;
  /** Epoch ms of the last transition of the condition. */
  since: number;
}

/**
 * Taints that Kubernetes sets on a new or unhealthy node, and removes by itself (kubernetes.io, "Well-Known Labels,
 * Annotations and Taints"). A user or another controller set all other taints on purpose.
 */
export const passingTaints: readonly string[] = [
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/unreachable",
  "node.kubernetes.io/network-unavailable",
  "node.cloudprovider.kubernetes.io/uninitialized",
];
/** Labels of control planes; the second one until Kubernetes 1.24. */
const controlPlaneLabels = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
const zoneLabel = "topology.kubernetes.io/zone";
/** Number of nodes that are read concurrently. */
const width = 20;
/**
 * Maximum characters of texts that a kubelet writes: a compromised node could otherwise fill the snapshot of its pool,
 * and so hide the other machines.
 */
const longest = { version: 64, reason: 128, message: 1_024 } as const;

/** Returns whether a Node is labelled as a control plane. */
export function isControlPlane({ metadata }: Pick<V1Node, "metadata">): boolean {
  return controlPlaneLabels.some((label) => metadata?.labels?.[label] !== undefined);
}

/** Returns the version that a kubelet reports, shortened to the longest one that Ostler keeps; "" without a version. */
export function kubeletOf(version = ""): string {
  return version.slice(0, longest.version);
}

/** Reads a Node; undefined if it does not exist. */
export async function nodeFacts(kube: Kube, name: string): Promise<NodeFacts | undefined> {
  const node = await ifFound(kube.core.readNode({ name }));
  return node && factsOf(node);
}

/** Reads each Node with its own GET; absent ones are skipped. */
export async function readNodes(kube: Kube, names: string[]): Promise<NodeFacts[]> {
  const found = await abreast(width, names, (name) => nodeFacts(kube, name));
  return found.filter((facts) => facts !== undefined);
}

/** Returns the facts of a Node as the client or a watch delivers it; pure. */
export function factsOf({ metadata, spec, status }: V1Node): NodeFacts {
  const created = timeOf(metadata?.creationTimestamp, Date.now());
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === "Ready");
  const zone = metadata?.labels?.[zoneLabel];
  return {
    name: metadata?.name ?? "",
    ...(spec?.providerID ? { providerId: spec.providerID } : {}),
    ready: ready?.status === "True",
    reachable: ready?.status !== "Unknown",
    readyReason: ready?.reason?.slice(0, longest.reason) ?? "NotReported",
    readyMessage: ready?.message?.slice(0, longest.message) ?? "it has not reported yet",
    initialising: (spec?.taints ?? []).map(({ key }) => key).filter((key) => passingTaints.includes(key)),
    kubelet: kubeletOf(status?.nodeInfo?.kubeletVersion),
    since: ready ? sinceOf(ready, metadata, created) : created,
    ...(zone ? { zone } : {}),
    conditions: conditions.map((condition) => {
      const { type, status } = condition;
      return { type, status, since: sinceOf(condition, metadata, created) };
    }),
  };
}

/** Returns why a new machine cannot join with this node yet; undefined if nothing is missing. Pure. */
export function unreadinessOf({ name, ready, readyReason, readyMessage, initialising }: NodeFacts): string | undefined {
  if (!ready) return `node "${name}" is not Ready (${readyReason}): ${readyMessage}`;
  const [taint] = initialising;
  // While the node has such a taint, it cannot run the pods that are evicted from an old node.
  return taint && `node "${name}" is Ready, but taint "${taint}" keeps pods off it`;
}

// The kubelet and other programs of a node write times by the clock of the node, and a machine whose clock is hours
// behind must not be repaired after seconds. Managed fields show when the API server received such a write.

/** Difference (ms) between the clocks of a node and of the API server up to which the times of the node count. */
const skewMs = 60_000;

/**
 * Returns since when a condition has its status (epoch ms). Corrects the time if the writer of the heartbeat also wrote
 * the status, and its clock differs from that of the API server.
 */
function sinceOf(condition: V1NodeCondition, metadata: V1Node["metadata"], created: number): number {
  const since = timeOf(condition.lastTransitionTime, created);
  if (!condition.lastTransitionTime || !condition.lastHeartbeatTime) return since;
  const writer = metadata?.managedFields?.find((each) => isWriterOf(condition.type, each));
  const heartbeat = timeOf(condition.lastHeartbeatTime, 0);
  // kube-controller-manager gives a condition that no kubelet ever wrote the creation time of the Node as its heartbeat.
  if (heartbeat < since) return since;
  const behind = timeOf(writer?.time, heartbeat) - heartbeat;
  return Math.abs(behind) > skewMs ? since + behind : since;
}

function isWriterOf(type: string, { fieldsV1 }: V1ManagedFieldsEntry): boolean {
  const { "f:status": status } = (fieldsV1 ?? {}) as { "f:status"?: { "f:conditions"?: Record<string, object> } };
  const fields = status?.["f:conditions"]?.[`k:${JSON.stringify({ type })}`] ?? {};
  return "f:lastHeartbeatTime" in fields && "f:status" in fields;
}

// The client's own calls deliver a Date, a watch delivers a text, and for a missing time of a condition null.
function timeOf(time: Date | string | null | undefined, otherwise: number): number {
  return time ? new Date(time).getTime() : otherwise;
}
