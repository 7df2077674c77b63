/** Moving one pod: asked for through the Eviction API, so that PodDisruptionBudgets count, or by force. */
import type { V1Pod } from "@kubernetes/client-node";
import type { Kube } from "../kube/client.ts";
import { statusOf } from "../kube/status.ts";

/** Why a pod was not evicted now; a namespace that ends deletes its pods itself. */
export type Refusal = "Budget" | "SeveralBudgets" | "NamespaceEnds";

/** Undefined when the eviction was accepted or the pod is gone. */
export async function evict(kube: Kube, pod: V1Pod): Promise<Refusal | undefined> {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  const body = { metadata: { name, namespace }, deleteOptions: { preconditions: { uid } } };
  try {
    await kube.core.createNamespacedPodEviction({ name, namespace, body });
    return undefined;
  } catch (error) {
    const status = statusOf(error);
    if (isGone(status)) return undefined;
    if (status === 429) return "Budget";
    if (status === 500) return "SeveralBudgets";
    if (status === 403 && saysNamespaceEnds(error)) return "NamespaceEnds";
    throw error;
  }
}

/** Deletes a pod whatever protects it; with a grace of 0 seconds its node is not waited for. */
export async function deletePod(kube: Kube, pod: V1Pod, gracePeriodSeconds: number): Promise<void> {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  try {
    await kube.core.deleteNamespacedPod({ name, namespace, body: { gracePeriodSeconds, preconditions: { uid } } });
  } catch (error) {
    if (!isGone(statusOf(error))) throw error;
  }
}

// 409: there is a pod of that name, but another one.
function isGone(status: number | undefined): boolean {
  return status === 404 || status === 409;
}

function saysNamespaceEnds(error: unknown): boolean {
  return error instanceof Error && error.message.includes("NamespaceTerminating");
}
