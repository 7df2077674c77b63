/** The identity of booting machines: a service account that reads this pool's secrets and writes its boot report. */
import type { V1PolicyRule, V1RoleBinding } from "@kubernetes/client-node";
import { createHash } from "node:crypto";
import { type ArtefactNames, namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { asMergePatch } from "../kube/client.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { ownerAnnotation } from "./names.ts";
import { claim, ownerOf } from "./ownership.ts";

export interface IdentityOrder {
  pool: PoolRef;
  /** On provider edge a person's script fetches the bootstrap secret too. */
  isEdge: boolean;
}

/** Makes the service account, whose name is claimed by that; where none is known to be there, without a look. */
export async function ensureAccount(kube: Kube, pool: PoolRef, { isNew }: { isNew: boolean }): Promise<void> {
  const metadata = metadataOf(pool);
  const { name, namespace } = metadata;
  const create = (): Promise<unknown> => kube.core.createNamespacedServiceAccount({ namespace, body: { metadata } });
  if (isNew && await created(create())) return;
  const existing = await ifFound(kube.core.readNamespacedServiceAccount({ name, namespace }));
  if (existing) claim(pool, `service account "${name}"`, existing.metadata?.annotations);
  else await create();
}

/** Makes Role and RoleBinding of a service account that is ours; a Role that says something else is corrected. */
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

/** SHA-256 of what the identity may do: another one has to be written before machines count on it. */
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

/** False when it existed already. */
async function created(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (statusOf(error) === 409) return false;
    throw error;
  }
}
