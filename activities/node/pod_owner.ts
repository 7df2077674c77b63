/** Whom to ask about a pod. */
import type { V1OwnerReference, V1Pod } from "@kubernetes/client-node";
import type { Kube } from "../kube/client.ts";
import { statusOf } from "../kube/status.ts";

/** The owner as "Deployment default/web", through a ReplicaSet to what made it; "" for a pod that nobody owns. */
export async function ownerOf(kube: Kube, pod: V1Pod): Promise<string> {
  const namespace = pod.metadata?.namespace ?? "";
  const owner = controllerOf(pod.metadata?.ownerReferences);
  if (!owner) return "";
  const above = owner.kind === "ReplicaSet" ? await aboveOf(kube, namespace, owner.name) : undefined;
  const { kind, name } = above ?? owner;
  return `${kind} ${namespace}/${name}`;
}

async function aboveOf(kube: Kube, namespace: string, name: string): Promise<V1OwnerReference | undefined> {
  try {
    return controllerOf((await kube.apps.readNamespacedReplicaSet({ name, namespace })).metadata?.ownerReferences);
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return undefined; // gone, or not for us to read: the nearest owner will do
  }
}

function controllerOf(owners: V1OwnerReference[] = []): V1OwnerReference | undefined {
  return owners.find(({ controller }) => controller) ?? owners[0];
}
