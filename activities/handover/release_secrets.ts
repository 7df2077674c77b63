/**
 * Returns to Operating System Manager the secrets that machines boot from: removes Ostler's annotations, and replaces
 * the token of Ostler's account by Operating System Manager's token, because the handover deletes that account.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { type ArtefactNames, namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { fetchAccount } from "../config/credentials.ts";
import { ownerAnnotation } from "../config/names.ts";
import { ownerOf } from "../config/identity.ts";
import { withToken } from "../config/published_tokens.ts";
import { decode } from "../config/read_facts.ts";
import { asMergePatch, type Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";
import { ourPrefix } from "./names.ts";

/** Gives back the existing secrets that this pool owns; the bootstrap secret last, because it refers to the others. */
export async function releaseSecrets(
  kube: Kube,
  pool: PoolRef & { artefacts: readonly string[] },
  getterToken: string,
): Promise<void> {
  const names = namesOf(pool);
  for (const name of inOrder(names).filter((each) => pool.artefacts.includes(each))) {
    const secret = await ifFound(kube.core.readNamespacedSecret({ name, namespace: secretsNamespace }));
    if (!secret || secret.metadata?.annotations?.[ownerAnnotation] !== ownerOf(pool)) continue;
    // The kubeconfig and the edge script stay mutable: Operating System Manager rewrites the kubeconfig with a new
    // token.
    const isImmutable = name !== names.kubeletBootstrap && name !== names.edgeScript;
    await giveBack(kube, pool, { secret, getterToken, isImmutable });
  }
}

function inOrder({ provisioning, kubeletBootstrap, edgeScript, bootstrap }: ArtefactNames): string[] {
  return [provisioning, kubeletBootstrap, edgeScript, bootstrap];
}

interface Giving {
  secret: V1Secret;
  getterToken: string;
  isImmutable: boolean;
}

async function giveBack(kube: Kube, pool: PoolRef, { secret, getterToken, isImmutable }: Giving): Promise<void> {
  const { name = "", resourceVersion = "", labels = {}, annotations = {} } = secret.metadata ?? {};
  const where = { name, namespace: secretsNamespace };
  // An immutable secret was only claimed by Ostler, not published, so only Ostler's annotations are removed.
  if (secret.immutable === true) {
    const ours = Object.keys(annotations).filter((key) => key.startsWith(ourPrefix));
    const without = Object.fromEntries(ours.map((key) => [key, null]));
    await kube.core.patchNamespacedSecret({ ...where, body: { metadata: { annotations: without } } }, asMergePatch);
    return;
  }
  const body: V1Secret = {
    metadata: { ...where, resourceVersion, labels, annotations: withoutOurs(annotations) },
    type: secret.type ?? "Opaque",
    data: Object.fromEntries(
      Object.entries(secret.data ?? {}).map(([key, value]) => [key, exchanged(pool, value, getterToken)]),
    ),
    ...(isImmutable ? { immutable: true } : {}),
  };
  await kube.core.replaceNamespacedSecret({ ...where, body });
}

function exchanged(pool: PoolRef, value: string, getterToken: string): string {
  const { text, exchanged } = withToken(decode(value), { accounts: [fetchAccount(pool)], ids: [] }, getterToken);
  return exchanged === 0 ? value : Buffer.from(text).toString("base64");
}

/** Returns annotations or labels without those of Ostler. */
export function withoutOurs(given: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(given).filter(([key]) => !key.startsWith(ourPrefix)));
}
