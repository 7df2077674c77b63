/** Removes everything made for a pool; each part may be gone already. */
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { configs, deleteObject, readObject, rollouts } from "../kube/resources.ts";
import { attempting, ifFound } from "../kube/status.ts";
import type { Backend } from "../backends/contract.ts";
import { backendOf } from "../backends/registry.ts";
import { removeBootReport } from "../pool/report_place.ts";
import { ensureSlotsKept } from "../pool/slots.ts";
import { tokensOf } from "./bootstrap_token.ts";
import { isOfThisCluster } from "./cluster_mark.ts";
import { removeFinalizer } from "./finalizer.ts";
import { keptProfileName } from "./kept_profile.ts";
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import { ownerAnnotation, tokensNamespace } from "./names.ts";
import { ownerOf } from "./ownership.ts";

/** Deletes artefacts, lets held machines go, revokes credentials, and takes the finalizer away last. */
export function ensurePoolCleanedUp(
  { kube, profileNamespace }: { kube: Kube; profileNamespace: string },
  pool: PoolRef,
): Promise<void> {
  return attempting(`clean up after "${ownerOf(pool)}"`, async () => {
    const backend = backendOf(kube, pool);
    if (backend.boots) return await cleanUpBoots({ kube, profileNamespace }, pool, backend);
    const isOurs = notOfOthers(pool);
    await deleteSecrets(kube, pool, isOurs);
    await backend.releaseAll(pool);
    await deleteConfig(kube, { pool, profileNamespace }, isOurs);
    await deleteIdentity(kube, pool, isOurs);
    await deleteBootstrapTokens(kube, pool, isOurs);
    await ensureSlotsKept({ kube, profileNamespace }, { pool, machines: [] });
    await ifFound(deleteObject(kube, rollouts, pool));
    await removeFinalizer(kube, pool);
  });
}

/** Nothing is published for it: what is left is what was done to its machines, and what is told of it. */
async function cleanUpBoots(
  { kube, profileNamespace }: { kube: Kube; profileNamespace: string },
  pool: PoolRef,
  { boots, releaseAll }: Pick<Backend, "boots" | "releaseAll">,
): Promise<void> {
  await releaseAll(pool);
  await ensureSlotsKept({ kube, profileNamespace }, { pool, machines: [] });
  const { namespace, name } = pool;
  await ifFound(deleteObject(kube, rollouts, { namespace, name }));
  await boots?.letGo(pool);
}

/**
 * Takes back what a publication wrote before it found that a name is another pool's: only what bears this pool's name, as
 * what bears none may be Operating System Manager's.
 */
export async function withdraw(
  { kube, profileNamespace }: { kube: Kube; profileNamespace: string },
  pool: PoolRef,
): Promise<void> {
  const isOwn: IsOurs = (annotations) => annotations?.[ownerAnnotation] === ownerOf(pool);
  await deleteSecrets(kube, pool, isOwn);
  await deleteConfig(kube, { pool, profileNamespace }, isOwn);
  await deleteIdentity(kube, pool, isOwn);
  await deleteBootstrapTokens(kube, pool, isOwn);
}

/** Tells by annotations whether an object is to go. */
export type IsOurs = (annotations: Record<string, string> | undefined) => boolean;

async function deleteConfig(
  kube: Kube,
  { pool, profileNamespace }: { pool: PoolRef; profileNamespace: string },
  isOurs: IsOurs,
): Promise<void> {
  const name = { name: namesOf(pool).config, namespace: profileNamespace };
  const config = await ifFound(readObject(kube, configs, name));
  if (!config || !isOurs(config.metadata.annotations)) return;
  if (await isOfThisCluster(kube, config.metadata.annotations)) await ifFound(deleteObject(kube, configs, name));
}

async function deleteSecrets(kube: Kube, pool: PoolRef, isOurs: IsOurs): Promise<void> {
  const { bootstrap, provisioning, kubeletBootstrap, edgeScript } = namesOf(pool);
  const namespace = secretsNamespace;
  for (const name of [bootstrap, provisioning, kubeletBootstrap, edgeScript, keptProfileName(pool)]) {
    const secret = await ifFound(kube.core.readNamespacedSecret({ name, namespace }));
    if (!secret || !isOurs(secret.metadata?.annotations)) continue;
    await ifFound(kube.core.deleteNamespacedSecret({ name, namespace }));
  }
}

/**
 * Takes from the pool's machines what they may do, if it is ours. Deleting the service account revokes its tokens at once.
 * Machines can write to the boot report, also who owns it.
 */
export async function deleteIdentity(kube: Kube, pool: PoolRef, isOurs: IsOurs): Promise<void> {
  const { identity } = namesOf(pool);
  const name = { name: identity, namespace: secretsNamespace };
  const account = await ifFound(kube.core.readNamespacedServiceAccount(name));
  if (account && !isOurs(account.metadata?.annotations)) return;
  await ifFound(kube.rbac.deleteNamespacedRoleBinding(name));
  await ifFound(kube.rbac.deleteNamespacedRole(name));
  await removeBootReport(kube, pool);
  await ifFound(kube.core.deleteNamespacedServiceAccount(name));
}

async function deleteBootstrapTokens(kube: Kube, pool: PoolRef, isOurs: IsOurs): Promise<void> {
  const namespace = tokensNamespace;
  for (const { metadata } of await tokensOf(kube, pool)) {
    if (!metadata?.name || !isOurs(metadata.annotations)) continue;
    await ifFound(kube.core.deleteNamespacedSecret({ name: metadata.name, namespace }));
  }
}

// What another pool of a colliding name published is not ours to delete; without an owner it is.
function notOfOthers(pool: PoolRef): IsOurs {
  return (annotations) => (annotations?.[ownerAnnotation] ?? ownerOf(pool)) === ownerOf(pool);
}
