/** Gives one pool back to Operating System Manager; each step is idempotent, so an interrupted call can be repeated. */
import type { Cluster } from "../cluster.ts";
import { backendOf } from "../backends/registry.ts";
import { annotationsHash, namesOf, secretsNamespace } from "../../profiles/mod.ts";
import { deleteIdentity, ensurePoolCleanedUp } from "../config/clean_up.ts";
import { isOfThisCluster, ownerOf, profileAnnotation } from "../config/identity.ts";
import { keptProfileName } from "../config/kept_profile.ts";
import {
  annotationsHashAnnotation,
  digestAnnotation,
  ownerAnnotation,
  profileVersionAnnotation,
  secretRevisionAnnotation,
} from "../config/names.ts";
import type { Kube } from "../kube/client.ts";
import { configs, deleteObject, machineDeployments, patchObject, readObject, rollouts } from "../kube/resources.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { givenBack, ourPrefix } from "./names.ts";
import { type HandoverPool, keyOf, type Place } from "./pools.ts";
import { releaseSecrets } from "./release_secrets.ts";
import { releaseTokens, type TokenSeen } from "./tokens.ts";

/** Dependencies of the release of a pool. */
interface Releaser extends Place {
  kube: Cluster;
  /** Operating System Manager's token, with which machines fetch their user-data once the pool is given back. */
  getterToken: string;
  /** Bootstrap tokens by the key of their pool. */
  tokens: Map<string, TokenSeen[]>;
  /** The current time (epoch ms). */
  now: number;
}

/** The pool to give back, and whether its config is kept. */
export interface Giving {
  pool: HandoverPool;
  /**
   * Set, to the version of the pool's profile, if Operating System Manager cannot render the profile: the config then
   * counts as current until the MachineDeployment changes. If absent, Operating System Manager recreates config and
   * secrets at its first reconcile.
   */
  keptVersion?: string;
}

/** Gives the pool back; its Rollout is deleted last, because it marks a pool that is still to be given back. */
export function releasePool(releaser: Releaser, giving: Giving): Promise<void> {
  const { kube, tokens, now } = releaser;
  const { pool: { namespace, name, deployment } } = giving;
  const pool = { namespace, name };
  return attempting(`give back "${ownerOf(pool)}"`, async () => {
    // A MachineDeployment that is deleted or being deleted gets no new machines, so its objects are deleted, not given
    // back.
    if (!deployment || deployment.isLeaving) return await ensurePoolCleanedUp(releaser, pool);
    await restoreMinimum(kube, giving.pool);
    if (!deployment.isNamed && deployment.profile) await nameProfile(kube, giving.pool);
    // `deleteIdentity` deletes the account whose token machines have used to fetch their user-data, so tokens and
    // secrets are given back first.
    await releaseTokens(kube, pool, { tokens: tokens.get(namesOf(pool).key) ?? [], now });
    await releaseSecrets(kube, { ...pool, artefacts: giving.pool.artefacts }, releaser.getterToken);
    await releaseConfig(releaser, giving);
    await deleteIdentity(kube, pool, (annotations) => annotations?.[ownerAnnotation] === ownerOf(pool));
    await ifFound(kube.core.deleteNamespacedSecret({ name: keptProfileName(pool), namespace: secretsNamespace }));
    await ifFound(deleteObject(kube, rollouts, pool));
  });
}

// Restores the minimum size that Ostler raised for an autoscaler during an unfinished rollout, because nothing else
// does later. Runs before `releaseConfig`, which hashes the annotations of the MachineDeployment.
async function restoreMinimum(kube: Cluster, { namespace, name, deployment }: HandoverPool): Promise<void> {
  if (!Object.keys(deployment?.annotations ?? {}).some((key) => key.startsWith(ourPrefix))) return;
  const pool = { namespace, name };
  await backendOf(kube, pool).autoscaling(pool, { isRolling: false });
}

// Writes the name of the pool's profile into the MachineDeployment's annotations, because Operating System Manager
// manages only MachineDeployments that name a profile.
async function nameProfile(kube: Kube, { namespace, name, deployment }: HandoverPool): Promise<void> {
  const body = { metadata: { annotations: { [profileAnnotation]: deployment?.profile?.name } } };
  await ifFound(patchObject(kube, machineDeployments, { namespace, name, body }));
}

/**
 * Gives the config back. Without `keptVersion`, marks the config as outdated, because secrets rendered from it would
 * contain Ostler's placeholders: Operating System Manager then deletes config and secrets, and makes its own.
 */
async function releaseConfig(
  { kube, profileNamespace }: Releaser,
  { pool, keptVersion }: Giving,
): Promise<void> {
  const where = { namespace: profileNamespace, name: namesOf(pool).config };
  const config = await ifFound(readObject(kube, configs, where));
  // The secrets stay if Operating System Manager cannot render the profile, and so could not recreate them.
  if (!config) return keptVersion === undefined ? await removeStale(kube, pool) : undefined;
  const { annotations: standing = {} } = config.metadata;
  if (standing[ownerAnnotation] !== keyOf(pool) || !await isOfThisCluster(kube, standing)) return;
  // Operating System Manager makes an outdated config again, but never replaces an existing edge script: it would fail
  // before config and secrets are made.
  const isOutdated = keptVersion === undefined && standing[digestAnnotation] !== undefined;
  if (isOutdated) await removeSecrets(kube, pool, [namesOf(pool).edgeScript]);
  const ours = Object.keys(standing).filter((key) => key.startsWith(ourPrefix));
  const annotations = {
    ...Object.fromEntries(ours.map((key) => [key, null])),
    // Adds the annotations of Operating System Manager to a config that Ostler published; a claimed config has them
    // already.
    ...(standing[digestAnnotation] === undefined ? {} : await toldToOsm(kube, pool, keptVersion)),
  };
  await patchObject(kube, configs, { ...where, body: { metadata: { annotations } } });
}

async function toldToOsm(
  kube: Kube,
  { namespace, name, deployment }: HandoverPool,
  keptVersion: string | undefined,
): Promise<Record<string, string>> {
  if (keptVersion === undefined) return { [annotationsHashAnnotation]: givenBack };
  // Reads the annotations anew: the hash covers all of them, and `nameProfile` may have added one.
  const now = await ifFound(readObject(kube, machineDeployments, { namespace, name }));
  return {
    [annotationsHashAnnotation]: annotationsHash(now?.metadata.annotations ?? {}),
    [profileVersionAnnotation]: keptVersion,
    [secretRevisionAnnotation]: deployment?.revision ?? "",
  };
}

// Deletes the secrets of a pool without a config, because without a config Operating System Manager accepts secrets of
// any revision, and fails beside an edge script.
async function removeStale(kube: Kube, pool: HandoverPool): Promise<void> {
  const { bootstrap, provisioning, edgeScript } = namesOf(pool);
  await removeSecrets(kube, pool, [bootstrap, provisioning, edgeScript]);
}

async function removeSecrets(kube: Kube, pool: HandoverPool, names: readonly string[]): Promise<void> {
  if (pool.rivals.length > 0) return;
  for (const name of names) {
    const where = { name, namespace: secretsNamespace };
    const found = await ifFound(kube.core.readNamespacedSecret(where));
    // A secret that an earlier attempt gave back has no owner annotation; secrets of other pools are not deleted.
    const owner = found?.metadata?.annotations?.[ownerAnnotation] ?? keyOf(pool);
    if (found && owner === keyOf(pool)) await ifFound(kube.core.deleteNamespacedSecret(where));
  }
}
