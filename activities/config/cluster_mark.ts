/**
 * Whose pools a config of the management cluster is for. Names of pools are alike in many clusters, and nothing but this tells
 * one's config from another's there: an owner reference would point at what is in another cluster, and garbage collection
 * takes away whatever has an owner that it does not find.
 */
import { refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { ownerAnnotation } from "./names.ts";

/** Ours, on configs in a management cluster: the UID of kube-system in the cluster with the pools. */
export const clusterAnnotation = "ostler.dev/cluster-uid";

type Annotations = Record<string, string> | undefined;

const known = new WeakMap<object, Promise<string>>();

/** What tells that a config is of the cluster with these pools; nothing where one cluster has all. */
export async function clusterMark(kube: Kube): Promise<Record<string, string>> {
  return kube.management ? { [clusterAnnotation]: await uidOf(kube) } : {};
}

/** Whether a config is of no other cluster; one without a mark is of whoever finds it. */
export async function isOfThisCluster(kube: Kube, annotations: Annotations): Promise<boolean> {
  const mark = annotations?.[clusterAnnotation];
  return mark === undefined || mark === await uidOf(kube);
}

/** Refuses to take the place of another cluster's config. */
export async function claimForCluster(kube: Kube, what: string, annotations: Annotations): Promise<void> {
  if (await isOfThisCluster(kube, annotations)) return;
  const owner = `pool "${annotations?.[ownerAnnotation]}" of the cluster whose kube-system has UID "${
    annotations?.[clusterAnnotation]
  }"`;
  throw refused(
    "NameCollision",
    `Cannot publish ${what}: it is of ${owner}; give each cluster a --namespace of its own, or, of a cluster that is no more, delete its configs there`,
  );
}

// One API server is of one cluster for as long as a process lives; what failed is asked for again.
function uidOf(kube: Kube): Promise<string> {
  const uid = known.get(kube.core) ?? readUid(kube);
  known.set(kube.core, uid);
  uid.catch(() => known.delete(kube.core));
  return uid;
}

async function readUid(kube: Kube): Promise<string> {
  const { metadata } = await kube.core.readNamespace({ name: "kube-system" });
  return metadata?.uid ?? "";
}
