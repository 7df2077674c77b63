/** Moving one pod: asked for through the Eviction API, so that PodDisruptionBudgets count, or by force. */
import type { V1Pod } from "@kubernetes/client-node";
import type { Kube } from "../kube/client.ts";
import { messageOf, statusOf } from "../kube/status.ts";

/** Why a pod was not evicted now; a namespace that ends deletes its pods itself. */
export type Refusal =
  | { kind: "Budget" | "SeveralBudgets" | "NamespaceEnds" }
  /** A policy or a webhook of the site, or trouble in the API server; what it said. */
  | { kind: "Other"; status: number; message: string };

/** Undefined when the eviction was accepted or the pod is gone. */
export async function evict(kube: Kube, pod: V1Pod): Promise<Refusal | undefined> {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  const body = { metadata: { name, namespace }, deleteOptions: { preconditions: { uid } } };
  try {
    await kube.core.createNamespacedPodEviction({ name, namespace, body });
    return undefined;
  } catch (error) {
    if (isGone(statusOf(error))) return undefined;
    const refusal = refusalOf(error);
    if (refusal) return refusal;
    throw error;
  }
}

/** What an admission that refuses answers with, and what the API server does that could not ask it. */
const answered = [400, 403, 422, 429, 500];

// The words are those of the API server: of its eviction, its authorizer and its admission of what a namespace holds.
function refusalOf(error: unknown): Refusal | undefined {
  const [status = 0, message] = [statusOf(error), messageOf(error)];
  if (!answered.includes(status) || message.includes('cannot create resource "pods/eviction"')) return undefined;
  if (status === 403 && message.includes("because it is being terminated")) return { kind: "NamespaceEnds" };
  if (status === 429 && message.includes("disruption budget")) return { kind: "Budget" };
  if (status === 500 && message.includes("more than one PodDisruptionBudget")) return { kind: "SeveralBudgets" };
  return { kind: "Other", status, message };
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
