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

/** Makes service account, Role and RoleBinding; a Role that says something else is corrected. */
export async function ensureIdentity(kube: Kube, { pool, isEdge }: IdentityOrder): Promise<void> {
  const namespace = secretsNamespace;
  const names = namesOf(pool);
  const name = names.identity;
  const metadata = { name, namespace, annotations: { [ownerAnnotation]: ownerOf(pool) } };
  const rules = rulesFor(names, isEdge);
  const existing = await ifFound(kube.core.readNamespacedServiceAccount({ name, namespace }));
  if (existing) claim(pool, `service account "${name}"`, existing.metadata?.annotations);
  else await kube.core.createNamespacedServiceAccount({ namespace, body: { metadata } });
  await created(kube.rbac.createNamespacedRole({ namespace, body: { metadata, rules } })) ||
    await kube.rbac.patchNamespacedRole({ name, namespace, body: { rules } }, asMergePatch);
  await created(kube.rbac.createNamespacedRoleBinding({ namespace, body: binding(metadata) }));
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

function binding(metadata: { name: string; namespace: string; annotations: Record<string, string> }): V1RoleBinding {
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
