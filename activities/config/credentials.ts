/** Credentials of booting machines: a token that reads two secrets, and a bootstrap token for the kubelet. */
import type { V1RoleBinding } from "@kubernetes/client-node";
import { randomInt } from "node:crypto";
import type { PoolRef } from "../../workflows/contracts.ts";
import { asMergePatch } from "../kube/client.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound, statusOf } from "../kube/status.ts";
import { namesOf, ownerAnnotation, secretsNamespace, tokenLabel, tokensNamespace } from "./names.ts";
import type { ArtefactNames } from "./names.ts";
import { claim, ownerOf } from "./ownership.ts";

/** Bound by machine-controller's manifests to node bootstrapping and automatic approval. */
const bootstrapGroup = "system:bootstrappers:machine-controller:default-node-token";

export interface Credentials {
  /** Reads this pool's provisioning and kubelet bootstrap secrets, nothing else. */
  fetchToken: string;
  bootstrapToken: string;
  expiresAt: Date;
}

/** Makes fresh credentials; earlier ones stay valid until they expire, as machines may be booting with them. */
export async function issueCredentials(kube: Kube, pool: PoolRef, lifeSeconds: number): Promise<Credentials> {
  const names = namesOf(pool);
  await ensureIdentity(kube, pool, names);
  const { token: fetchToken, expiresAt } = await requestToken(kube, names.identity, lifeSeconds);
  const bootstrapToken = await createBootstrapToken(kube, { pool, names, expiresAt });
  return { fetchToken, bootstrapToken, expiresAt };
}

async function ensureIdentity(kube: Kube, pool: PoolRef, names: ArtefactNames): Promise<void> {
  const namespace = secretsNamespace;
  const name = names.identity;
  const metadata = { name, namespace, annotations: { [ownerAnnotation]: ownerOf(pool) } };
  const rules = [{
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [names.provisioning, names.kubeletBootstrap],
    verbs: ["get"],
  }];
  const existing = await ifFound(kube.core.readNamespacedServiceAccount({ name, namespace }));
  if (existing) claim(pool, `service account "${name}"`, existing.metadata?.annotations);
  else await kube.core.createNamespacedServiceAccount({ namespace, body: { metadata } });
  await created(kube.rbac.createNamespacedRole({ namespace, body: { metadata, rules } })) ||
    await kube.rbac.patchNamespacedRole({ name, namespace, body: { rules } }, asMergePatch);
  await created(kube.rbac.createNamespacedRoleBinding({ namespace, body: binding(metadata) }));
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

async function requestToken(
  kube: Kube,
  name: string,
  expirationSeconds: number,
): Promise<{ token: string; expiresAt: Date }> {
  const { status } = await kube.core.createNamespacedServiceAccountToken({
    name,
    namespace: secretsNamespace,
    body: { spec: { audiences: [], expirationSeconds } },
  });
  const { token, expirationTimestamp } = status ?? {};
  if (!token || !expirationTimestamp) throw new Error(`Cannot request a token for "${name}": the answer has none`);
  return { token, expiresAt: new Date(expirationTimestamp) };
}

async function createBootstrapToken(
  kube: Kube,
  { pool, names, expiresAt }: { pool: PoolRef; names: ArtefactNames; expiresAt: Date },
): Promise<string> {
  const id = randomText(6);
  const secret = randomText(16);
  await kube.core.createNamespacedSecret({
    namespace: tokensNamespace,
    body: {
      metadata: {
        name: `bootstrap-token-${id}`,
        namespace: tokensNamespace,
        labels: { [tokenLabel]: names.key },
        annotations: { [ownerAnnotation]: ownerOf(pool) },
      },
      type: "bootstrap.kubernetes.io/token",
      stringData: {
        description: `Kubelet bootstrap of MachineDeployment ${ownerOf(pool)}`,
        "token-id": id,
        "token-secret": secret,
        expiration: expiresAt.toISOString().replace(/\.\d+Z$/, "Z"),
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": bootstrapGroup,
      },
    },
  });
  return `${id}.${secret}`;
}

// The alphabet that the API server accepts in bootstrap tokens.
function randomText(length: number): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
}
