/** Deletes everything made for a pool; each part may be absent already. */
import { z } from "zod";
import type { Cluster } from "../cluster.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import {
  configs,
  deleteObject,
  type MachineDeployment,
  machineDeployments,
  Metadata,
  patchObject,
  readObject,
  rollouts,
} from "../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import type { Backend } from "../backends/contract.ts";
import { backendOf } from "../backends/registry.ts";
import { removeBootReport } from "../pool/report_place.ts";
import { ensureSlotsKept } from "../pool/slots.ts";
import { tokensOf } from "./bootstrap_token.ts";
import { finalizer, isOfThisCluster, ownerOf } from "./identity.ts";
import { keptProfileName } from "./kept_profile.ts";
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import { ownerAnnotation, tokensNamespace } from "./names.ts";
import { moot } from "../failures.ts";

/**
 * Deletes the objects published for a pool, releases its machines, revokes its credentials, and removes its finalizer
 * last.
 */
export function ensurePoolCleanedUp(
  { kube, profileNamespace }: { kube: Cluster; profileNamespace: string },
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
    await forgetPool({ kube, profileNamespace }, pool);
    await removeFinalizer(kube, pool);
  });
}

/**
 * Cleans up a pool without published artefacts: removes marks, holds and cordons from its machines, releases its slots
 * of shared budgets, deletes its Rollout, and removes its finalizer last.
 */
async function cleanUpBoots(
  { kube, profileNamespace }: { kube: Cluster; profileNamespace: string },
  pool: PoolRef,
  { boots, releaseAll }: Pick<Backend, "boots" | "releaseAll">,
): Promise<void> {
  await releaseAll(pool);
  await forgetPool({ kube, profileNamespace }, pool);
  await boots?.letGo(pool);
}

/** The owners of a Rollout; nothing else is read, because an invalid status must not delay a cleanup. */
const ownedRollouts = {
  ...rollouts,
  schema: z.object({ metadata: Metadata.pick({ ownerReferences: true }) }),
};

/**
 * Releases the pool's slots of shared budgets, and deletes its Rollout. Does neither if a pool of another kind has the
 * Rollout, because slots and Rollouts have the same names for all kinds.
 */
async function forgetPool(
  { kube, profileNamespace }: { kube: Cluster; profileNamespace: string },
  pool: PoolRef,
): Promise<void> {
  const { kind: own = "MachineDeployment", namespace, name } = pool;
  const rollout = await ifFound(readObject(kube, ownedRollouts, { namespace, name }));
  if (rollout?.metadata.ownerReferences?.some(({ kind }) => kind !== own)) return;
  await ensureSlotsKept({ kube, profileNamespace }, { pool, machines: [] });
  await ifFound(deleteObject(kube, rollouts, { namespace, name }));
}

/**
 * Deletes what a publication wrote before it found a name collision with another pool: only objects whose annotation
 * names this pool as owner, because objects without an owner may be Operating System Manager's.
 */
export async function withdraw(
  { kube, profileNamespace }: { kube: Cluster; profileNamespace: string },
  pool: PoolRef,
): Promise<void> {
  const isOwn: IsOurs = (annotations) => annotations?.[ownerAnnotation] === ownerOf(pool);
  await deleteSecrets(kube, pool, isOwn);
  await deleteConfig(kube, { pool, profileNamespace }, isOwn);
  await deleteIdentity(kube, pool, isOwn);
  await deleteBootstrapTokens(kube, pool, isOwn);
}

/** Decides by annotations whether an object is deleted. */
type IsOurs = (annotations: Record<string, string> | undefined) => boolean;

async function deleteConfig(
  kube: Cluster,
  { pool, profileNamespace }: { pool: PoolRef; profileNamespace: string },
  isOurs: IsOurs,
): Promise<void> {
  const name = { name: namesOf(pool).config, namespace: profileNamespace };
  const config = await ifFound(readObject(kube, configs, name));
  if (!config || !isOurs(config.metadata.annotations)) return;
  if (await isOfThisCluster(kube, config.metadata.annotations)) await ifFound(deleteObject(kube, configs, name));
}

async function deleteSecrets(kube: Cluster, pool: PoolRef, isOurs: IsOurs): Promise<void> {
  const { bootstrap, provisioning, kubeletBootstrap, edgeScript } = namesOf(pool);
  const namespace = secretsNamespace;
  for (const name of [bootstrap, provisioning, kubeletBootstrap, edgeScript, keptProfileName(pool)]) {
    const secret = await ifFound(kube.core.readNamespacedSecret({ name, namespace }));
    if (!secret || !isOurs(secret.metadata?.annotations)) continue;
    await ifFound(kube.core.deleteNamespacedSecret({ name, namespace }));
  }
}

/**
 * Deletes the service account of the pool's machines, its permissions, and the boot report; this immediately revokes
 * the account's tokens. Does nothing if `isOurs` rejects the annotations of an existing account. The annotations of the
 * boot report are not evaluated, because machines can write them.
 */
export async function deleteIdentity(kube: Cluster, pool: PoolRef, isOurs: IsOurs): Promise<void> {
  const { identity } = namesOf(pool);
  const name = { name: identity, namespace: secretsNamespace };
  const account = await ifFound(kube.core.readNamespacedServiceAccount(name));
  if (account && !isOurs(account.metadata?.annotations)) return;
  await ifFound(kube.rbac.deleteNamespacedRoleBinding(name));
  await ifFound(kube.rbac.deleteNamespacedRole(name));
  await removeBootReport(kube, pool);
  await ifFound(kube.core.deleteNamespacedServiceAccount(name));
}

async function deleteBootstrapTokens(kube: Cluster, pool: PoolRef, isOurs: IsOurs): Promise<void> {
  const namespace = tokensNamespace;
  for (const { metadata } of await tokensOf(kube, pool)) {
    if (!metadata?.name || !isOurs(metadata.annotations)) continue;
    await ifFound(kube.core.deleteNamespacedSecret({ name: metadata.name, namespace }));
  }
}

// Objects that another pool with a colliding name published are kept; objects without an owner are deleted.
function notOfOthers(pool: PoolRef): IsOurs {
  return (annotations) => (annotations?.[ownerAnnotation] ?? ownerOf(pool)) === ownerOf(pool);
}

// The finalizer that keeps a MachineDeployment until everything made for it is deleted.

/**
 * Adds the finalizer if it is missing; must run before anything is written that is to be deleted with the pool. Throws
 * GenerationStale if the MachineDeployment was deleted, because such objects would then never be deleted.
 */
export async function ensureFinalizer(kube: Cluster, pool: PoolRef, { metadata }: MachineDeployment): Promise<void> {
  const add = (finalizers: string[]): string[] =>
    finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer];
  if (await tryToWrite(kube, { pool, metadata, change: add })) return;
  // The write failed because the MachineDeployment was modified or deleted since it was read.
  const deployment = await ifFound(readObject(kube, machineDeployments, pool));
  if (deployment && deployment.metadata.uid === metadata.uid) {
    await write(kube, { pool, metadata: deployment.metadata, change: add });
    return;
  }
  const state = deployment
    ? "the MachineDeployment was deleted, and another one has its name now"
    : "the MachineDeployment was deleted";
  throw moot("GenerationStale", `Failed to add a finalizer to MachineDeployment "${ownerOf(pool)}": ${state}`);
}

async function tryToWrite(kube: Cluster, edit: Edit): Promise<boolean> {
  try {
    await write(kube, edit);
    return true;
  } catch (error) {
    if (![404, 409].includes(statusOf(error) ?? 0)) throw error;
    return false;
  }
}

/** Removes the finalizer; idempotent: an absent MachineDeployment counts as success. */
async function removeFinalizer(kube: Cluster, pool: PoolRef): Promise<void> {
  const remove = (finalizers: string[]): string[] => finalizers.filter((name) => name !== finalizer);
  const deployment = await ifFound(readObject(kube, machineDeployments, pool));
  if (deployment) await ifFound(write(kube, { pool, metadata: deployment.metadata, change: remove }));
}

/** A change of a MachineDeployment's finalizers; `metadata` is that of the MachineDeployment as read. */
interface Edit {
  pool: PoolRef;
  metadata: MachineDeployment["metadata"];
  change: (finalizers: string[]) => string[];
}

// The resource version makes the API server refuse the patch if the list was modified meanwhile.
async function write(kube: Cluster, { pool, metadata, change }: Edit): Promise<void> {
  const { resourceVersion, finalizers = [] } = metadata;
  const wanted = change(finalizers);
  if (wanted.length === finalizers.length) return;
  const body = { metadata: { resourceVersion, finalizers: wanted } };
  await patchObject(kube, machineDeployments, { ...pool, body });
}
