/** Bootstrap tokens: secrets of kube-system with which a kubelet asks for its certificate. */
import type { V1Secret } from "@kubernetes/client-node";
import { randomInt } from "node:crypto";
import { namesOf } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";
import { ownerAnnotation, tokenLabel, tokensNamespace } from "./names.ts";
import { ownerOf } from "./ownership.ts";
import { decode } from "./referenced_secret.ts";

/** Bound by machine-controller's manifests to node bootstrapping and automatic approval. */
const bootstrapGroup = "system:bootstrappers:machine-controller:default-node-token";

export interface BootstrapToken {
  /** Names its secret; no secret itself. */
  id: string;
  token: string;
}

/** Makes a new token; others of the pool stay, as machines may be booting with them, until they expire. */
export async function createBootstrapToken(kube: Kube, pool: PoolRef, expiresAt: Date): Promise<BootstrapToken> {
  await forgetExpired(kube, pool);
  const id = randomText(6);
  const secret = randomText(16);
  await kube.core.createNamespacedSecret({
    namespace: tokensNamespace,
    body: {
      metadata: {
        name: nameOf(id),
        namespace: tokensNamespace,
        labels: { [tokenLabel]: namesOf(pool).key },
        annotations: { [ownerAnnotation]: ownerOf(pool) },
      },
      type: "bootstrap.kubernetes.io/token",
      stringData: {
        description: `bootstrap token for ${namesOf(pool).key}`,
        "token-id": id,
        "token-secret": secret,
        expiration: expiresAt.toISOString().replace(/\.\d+Z$/, "Z"),
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": bootstrapGroup,
      },
    },
  });
  return { id, token: `${id}.${secret}` };
}

/** The token can be used now. */
export async function isTokenAlive(kube: Kube, id: string): Promise<boolean> {
  const secret = await ifFound(kube.core.readNamespacedSecret({ namespace: tokensNamespace, name: nameOf(id) }));
  return secret !== undefined && !isExpired(secret);
}

// Kubernetes has a controller for it, which not every cluster runs.
async function forgetExpired(kube: Kube, pool: PoolRef): Promise<void> {
  const namespace = tokensNamespace;
  const labelSelector = `${tokenLabel}=${namesOf(pool).key}`;
  const { items } = await kube.core.listNamespacedSecret({ namespace, labelSelector });
  for (const secret of items) {
    const { name, annotations } = secret.metadata ?? {};
    if (!name || annotations?.[ownerAnnotation] !== ownerOf(pool) || !isExpired(secret)) continue;
    await ifFound(kube.core.deleteNamespacedSecret({ name, namespace }));
  }
}

function isExpired({ data }: V1Secret): boolean {
  return Date.parse(decode(data?.["expiration"] ?? "")) <= Date.now();
}

function nameOf(id: string): string {
  return `bootstrap-token-${id}`;
}

// The alphabet that the API server accepts in bootstrap tokens.
function randomText(length: number): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
}
