/** The identity of booting machines: a service account that reads this pool's secrets and writes its boot report. */
import type { Cluster } from "../cluster.ts";
import type { V1PolicyRule, V1RoleBinding } from "@kubernetes/client-node";
import { createHash } from "node:crypto";
import { type ArtefactNames, namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { asMergePatch, type Kube } from "../kube/client.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { ownerAnnotation } from "./names.ts";
import { refused } from "../failures.ts";

interface IdentityOrder {
  pool: PoolRef;
  /** Whether the provider is edge, where the user's script also fetches the bootstrap secret. */
  isEdge: boolean;
}

/**
 * Creates the service account if it does not exist. Throws NameCollision if another pool owns the existing one. With
 * `isNew`, first tries to create it, which saves a read.
 */
export async function ensureAccount(kube: Kube, pool: PoolRef, { isNew }: { isNew: boolean }): Promise<void> {
  const metadata = metadataOf(pool);
  const { name, namespace } = metadata;
  const create = (): Promise<unknown> => kube.core.createNamespacedServiceAccount({ namespace, body: { metadata } });
  if (isNew && await created(create())) return;
  const existing = await ifFound(kube.core.readNamespacedServiceAccount({ name, namespace }));
  if (existing) claim(pool, `service account "${name}"`, existing.metadata?.annotations);
  else await create();
}

/** Creates Role and RoleBinding of a service account that the pool owns; corrects a Role with other rules. */
export async function ensureRights(kube: Kube, { pool, isEdge }: IdentityOrder): Promise<void> {
  const metadata = metadataOf(pool);
  const { name, namespace } = metadata;
  const rules = rulesFor(namesOf(pool), isEdge);
  await created(kube.rbac.createNamespacedRole({ namespace, body: { metadata, rules } })) ||
    await kube.rbac.patchNamespacedRole({ name, namespace, body: { rules } }, asMergePatch);
  await created(kube.rbac.createNamespacedRoleBinding({ namespace, body: binding(metadata) }));
}

interface IdentityMetadata {
  name: string;
  namespace: string;
  annotations: Record<string, string>;
}

function metadataOf(pool: PoolRef): IdentityMetadata {
  const annotations = { [ownerAnnotation]: ownerOf(pool) };
  return { name: namesOf(pool).identity, namespace: secretsNamespace, annotations };
}

/** Returns the SHA-256 of the permissions of the service account, in hex; it changes when the permissions change. */
export function identityDigest({ pool, isEdge }: IdentityOrder): string {
  return createHash("sha256").update(JSON.stringify(rulesFor(namesOf(pool), isEdge))).digest("hex");
}

function rulesFor(names: ArtefactNames, isEdge: boolean): V1PolicyRule[] {
  const secrets = [names.provisioning, names.kubeletBootstrap, ...(isEdge ? [names.bootstrap] : [])];
  return [
    { apiGroups: [""], resources: ["secrets"], resourceNames: secrets, verbs: ["get"] },
    { apiGroups: [""], resources: ["configmaps"], resourceNames: [names.bootReport], verbs: ["patch"] },
  ];
}

function binding(metadata: IdentityMetadata): V1RoleBinding {
  const { name, namespace } = metadata;
  return {
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  };
}

/** Returns true if the object was created, and false if it already existed. */
async function created(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (statusOf(error) === 409) return false;
    throw error;
  }
}

// The owner of an artefact: objects of two pools can have the same name, and then neither pool may overwrite the
// other's.

/** Returns the pool as the owner annotation names it: "namespace/name". */
export function ownerOf(pool: PoolRef): string {
  return `${pool.namespace}/${pool.name}`;
}

/** Refuses artefacts that another pool published; artefacts without an owner are taken over. */
export function claim(pool: PoolRef, what: string, annotations: Record<string, string> | undefined): void {
  const owner = annotations?.[ownerAnnotation];
  if (owner === undefined || owner === ownerOf(pool)) return;
  throw refused(
    "NameCollision",
    `Failed to publish ${what} for "${ownerOf(pool)}": MachineDeployment "${owner}" already owns an object of ` +
      "that name; create one of the two MachineDeployments under another name",
  );
}

// A management cluster may contain configs for pools of several clusters, and these pools may have the same name; only
// this annotation distinguishes their configs. An owner reference would point at an object in another cluster, and the
// garbage collector deletes objects whose owner it does not find.

/** On configs in a management cluster: the UID of kube-system in the cluster with the pools. */
export const clusterAnnotation = "ostler.dev/cluster-uid";

type Annotations = Record<string, string> | undefined;

/** Returns the annotation for configs that names the cluster of their pools; empty without a management cluster. */
export async function clusterMark(kube: Cluster): Promise<Record<string, string>> {
  return kube.management ? { [clusterAnnotation]: await uidOf(kube) } : {};
}

/** Returns whether a config may belong to this cluster: its annotation names this cluster, or is absent. */
export async function isOfThisCluster(kube: Cluster, annotations: Annotations): Promise<boolean> {
  const mark = annotations?.[clusterAnnotation];
  return mark === undefined || mark === await uidOf(kube);
}

/** Refuses to replace another cluster's config. */
export async function claimForCluster(kube: Cluster, what: string, annotations: Annotations): Promise<void> {
  if (await isOfThisCluster(kube, annotations)) return;
  const owner = `pool "${annotations?.[ownerAnnotation]}" of the cluster whose kube-system has UID "${
    annotations?.[clusterAnnotation]
  }"`;
  throw refused(
    "NameCollision",
    `Failed to publish ${what}: it belongs to ${owner}; use a different --namespace for the Ostler of each cluster, or delete the configs if that cluster was removed`,
  );
}

// Cached without limit, because a process talks to the API server of one cluster only; a failed read is not cached.
function uidOf(kube: Cluster): Promise<string> {
  return kube.cache.read("uid of the cluster", () => readUid(kube), { freshMs: Infinity });
}

async function readUid(kube: Kube): Promise<string> {
  const { metadata } = await kube.core.readNamespace({ name: "kube-system" });
  return metadata?.uid ?? "";
}

// Annotations and finalizer of a MachineDeployment, under the names that Operating System Manager uses too.

export const profileAnnotation = "k8c.io/operating-system-profile";
export const profileNamespaceAnnotation = "k8c.io/operating-system-profile-namespace";
/** Keeps a MachineDeployment until its artefacts are cleaned up. */
export const finalizer = "kubermatic.io/cleanup-operating-system-configs";
