/**
 * The bootstrap tokens of pools, in the state that Operating System Manager requires: it reuses the token with its
 * label, creates one if none has the label, and fails if several have it.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { osmTokenLabel, ownerAnnotation, tokenLabel, tokensNamespace } from "../config/names.ts";
import { ownerOf } from "../config/identity.ts";
import { decode } from "../config/read_facts.ts";
import { asMergePatch, type Kube } from "../kube/client.ts";
import { allPages } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";
import { ourPrefix } from "./names.ts";
import { withoutOurs } from "./release_secrets.ts";

/** A token without its secret part. */
export interface TokenSeen {
  /** Name of the token's Secret. */
  name: string;
  id: string;
  /** Key of the pool, from the label of either system. */
  key: string;
  owner: string | undefined;
  /** Expiry time of the token (epoch ms); NaN if it never expires. */
  expiresAt: number;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** Reads all tokens with the label of either system, by the key of their pool. */
export async function readTokens(kube: Kube): Promise<Map<string, TokenSeen[]>> {
  const lists = await Promise.all([osmTokenLabel, tokenLabel].map((labelSelector) =>
    allPages(async (page) => {
      const where = { namespace: tokensNamespace, labelSelector };
      const { items, metadata = {} } = await kube.core.listNamespacedSecret({ ...where, ...page });
      return { metadata, items: items.map(seenOf) };
    })
  ));
  const found = new Map<string, TokenSeen[]>();
  // A token may have the labels of both systems, and is then in both lists.
  for (const token of new Map(lists.flat().map((each) => [each.name, each])).values()) {
    found.set(token.key, [...found.get(token.key) ?? [], token]);
  }
  return found;
}

function seenOf({ metadata = {}, data = {} }: V1Secret): TokenSeen {
  const { name = "", labels = {}, annotations = {} } = metadata;
  return {
    ...{ name, labels, annotations, owner: annotations[ownerAnnotation] },
    id: decode(data["token-id"] ?? ""),
    key: labels[osmTokenLabel] ?? labels[tokenLabel] ?? "",
    expiresAt: Date.parse(decode(data["expiration"] ?? "")),
  };
}

/** Returns whether a token of either system has expired. */
export function isExpired({ expiresAt }: TokenSeen, now: number): boolean {
  return expiresAt <= now;
}

/**
 * Leaves the label of Operating System Manager on at most one token: the one in the kubeconfig. Other tokens lose the
 * label, but stay valid until they expire, because machines may be booting with them. Expired tokens are deleted.
 */
export async function releaseTokens(
  kube: Kube,
  pool: PoolRef,
  { tokens, now }: { tokens: TokenSeen[]; now: number },
): Promise<void> {
  const used = await idInKubeconfig(kube, pool);
  for (const token of tokens) {
    // Two pools may have the same key, so a token with this key may belong to the other pool.
    if ((token.owner ?? ownerOf(pool)) !== ownerOf(pool)) continue;
    const where = { name: token.name, namespace: tokensNamespace };
    if (isExpired(token, now)) {
      await ifFound(kube.core.deleteNamespacedSecret(where));
      continue;
    }
    const wanted = {
      ...without(token.labels, withoutOurs(token.labels)),
      [osmTokenLabel]: token.id === used ? namesOf(pool).key : null,
    };
    const annotations = without(token.annotations, withoutOurs(token.annotations));
    const isDone = (token.labels[osmTokenLabel] ?? null) === wanted[osmTokenLabel] && !hasOurs(token);
    if (isDone) continue;
    const body = { metadata: { labels: wanted, annotations } };
    await ifFound(kube.core.patchNamespacedSecret({ ...where, body }, asMergePatch));
  }
}

/** Deletes a token that is not needed any more. */
export async function deleteToken(kube: Kube, { name }: TokenSeen): Promise<void> {
  await ifFound(kube.core.deleteNamespacedSecret({ name, namespace: tokensNamespace }));
}

function hasOurs({ labels, annotations }: TokenSeen): boolean {
  return [...Object.keys(labels), ...Object.keys(annotations)].some((key) => key.startsWith(ourPrefix));
}

function without(all: Record<string, string>, rest: Record<string, string>): Record<string, null> {
  return Object.fromEntries(Object.keys(all).filter((key) => !(key in rest)).map((key) => [key, null]));
}

// The id is read from the kubeconfig, and not from the secret's annotations, which an earlier attempt may have removed.
async function idInKubeconfig(kube: Kube, pool: PoolRef): Promise<string | undefined> {
  const name = namesOf(pool).kubeletBootstrap;
  const secret = await ifFound(kube.core.readNamespacedSecret({ name, namespace: secretsNamespace }));
  const text = Object.values(secret?.data ?? {}).map(decode).join("\n");
  return /\btoken: "?([a-z0-9]{6})\.[a-z0-9]{16}\b/.exec(text)?.[1];
}
