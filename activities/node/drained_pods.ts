/** Selects the pods of a node that have to move, and their order. */
import type { V1Pod } from "@kubernetes/client-node";
import type { DrainRules } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { allPages } from "../kube/resources.ts";

/** Returns the pods that a drain has to move off a node. */
export async function podsToMove(kube: Kube, node: string): Promise<V1Pod[]> {
  const fieldSelector = `spec.nodeName=${node}`;
  const pods = await allPages((page) => kube.core.listPodForAllNamespaces({ fieldSelector, ...page }));
  return pods.filter(hasToMove);
}

// Returns false for the pods that a drain leaves on the node: DaemonSet pods, which would be recreated there, mirror
// pods, which the kubelet owns, and finished pods.
function hasToMove(pod: V1Pod): boolean {
  const isDaemon = pod.metadata?.ownerReferences?.some(({ kind }) => kind === "DaemonSet") ?? false;
  const isMirror = pod.metadata?.annotations?.["kubernetes.io/config.mirror"] !== undefined;
  const isFinished = ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");
  return !isDaemon && !isMirror && !isFinished;
}

/** Returns the pods that may be evicted now: all if `order` is AllAtOnce, otherwise those with the lowest priority. */
export function turnOf(pods: V1Pod[], order: DrainRules["order"]): V1Pod[] {
  if (order === "AllAtOnce") return pods;
  const lowest = Math.min(...pods.map(priorityOf));
  return pods.filter((pod) => priorityOf(pod) === lowest);
}

/** Returns the name of an emptyDir volume of the pod, whose data would be lost with the pod; undefined without one. */
export function localVolumeOf(pod: V1Pod): string | undefined {
  return pod.spec?.volumes?.find(({ emptyDir }) => emptyDir)?.name;
}

/** Returns whether the pod is terminating. */
export function isEnding(pod: V1Pod): boolean {
  return pod.metadata?.deletionTimestamp !== undefined;
}

/** Returns the name as "namespace/name". */
export function nameOf(pod: V1Pod): string {
  return `${pod.metadata?.namespace}/${pod.metadata?.name}`;
}

function priorityOf(pod: V1Pod): number {
  return pod.spec?.priority ?? 0;
}
