/** Empties a node through the Eviction API, so that PodDisruptionBudgets are always respected. */
import type { V1Pod } from "@kubernetes/client-node";
import { expired } from "../failures.ts";
import { asMergePatch } from "../kube/client.ts";
import type { Kube } from "../kube/client.ts";
import { poll } from "../kube/polling.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";

/** Keeps new pods off a node; a node that is gone counts as done. */
export function ensureNodeCordoned(kube: Kube, { node }: { node: string }): Promise<void> {
  return attempting(`cordon node "${node}"`, async () => {
    await ifFound(kube.core.patchNode({ name: node, body: { spec: { unschedulable: true } } }, asMergePatch));
  });
}

/** Evicts every pod that has to move and waits until they are gone; `until` in epoch ms. */
export function awaitNodeDrained(
  kube: Kube,
  { node, until }: { node: string; until: number },
): Promise<{ evicted: number }> {
  const evicted = new Set<string>();
  const start = Date.now();
  return poll<{ evicted: number }>({
    until,
    every: 1000,
    look: () => attempting(`drain node "${node}"`, () => look(kube, node, evicted)),
    expired: (missing) => expired("PodsRemaining", `Cannot drain node "${node}": ${missing} after ${since(start)}`),
  });
}

async function look(
  kube: Kube,
  node: string,
  evicted: Set<string>,
): Promise<{ answer: { evicted: number } } | { missing: string }> {
  const pods = (await podsOn(kube, node)).filter(hasToMove);
  const blocked = await Promise.all(pods.filter(isStaying).map((pod) => evict(kube, pod, evicted)));
  if (pods.length === 0 || await isGone(kube, node)) return { answer: { evicted: evicted.size } };
  const why = blocked.filter((reason) => reason !== undefined);
  const names = pods.slice(0, 5).map(nameOf).join(", ");
  return { missing: `${pods.length} pods remain (${names})${why.length ? `: ${why.slice(0, 3).join("; ")}` : ""}` };
}

async function isGone(kube: Kube, node: string): Promise<boolean> {
  return await ifFound(kube.core.readNode({ name: node })) === undefined;
}

async function podsOn(kube: Kube, node: string): Promise<V1Pod[]> {
  const { items } = await kube.core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${node}` });
  return items;
}

// DaemonSet pods would come back at once, mirror pods belong to the kubelet, finished ones hold nothing up.
function hasToMove(pod: V1Pod): boolean {
  const isDaemon = pod.metadata?.ownerReferences?.some(({ kind }) => kind === "DaemonSet") ?? false;
  const isMirror = pod.metadata?.annotations?.["kubernetes.io/config.mirror"] !== undefined;
  const isFinished = ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");
  return !isDaemon && !isMirror && !isFinished;
}

function isStaying(pod: V1Pod): boolean {
  return pod.metadata?.deletionTimestamp === undefined;
}

/** Undefined when the eviction was accepted or the pod is gone; else why not now. */
async function evict(kube: Kube, pod: V1Pod, evicted: Set<string>): Promise<string | undefined> {
  const { name = "", namespace = "", uid = "" } = pod.metadata ?? {};
  const body = { metadata: { name, namespace }, deleteOptions: { preconditions: { uid } } };
  try {
    await kube.core.createNamespacedPodEviction({ name, namespace, body });
    evicted.add(uid);
    return undefined;
  } catch (error) {
    const status = statusOf(error);
    if (status === 404 || status === 409) return undefined;
    if (status === 403 && isEnding(error)) return `${nameOf(pod)} goes with its namespace`;
    if (status === 429) return `${nameOf(pod)} is protected by a PodDisruptionBudget`;
    if (status === 500) return `${nameOf(pod)} is covered by more than one PodDisruptionBudget`;
    throw error;
  }
}

function isEnding(error: unknown): boolean {
  return error instanceof Error && error.message.includes("NamespaceTerminating");
}

function nameOf(pod: V1Pod): string {
  return `${pod.metadata?.namespace}/${pod.metadata?.name}`;
}

function since(start: number): string {
  const seconds = Math.round((Date.now() - start) / 1000);
  return seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
}
