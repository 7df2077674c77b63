/**
 * Renews the credentials of a pool at rest: one whose rollout has converged, and whose objects are unchanged since. The
 * boot data is rendered as for a publication, because no watch reports some changes: a deleted secret, a new password
 * of a registry, a new address of the API server. Such changes are found as often as credentials are renewed. If
 * anything has changed, nothing is written, because the change requires a rollout.
 */
import type { Cluster } from "../cluster.ts";
import { ApplicationFailure } from "@temporalio/common";
import type { PoolRef, Rest, RestRenewal, TrustedCas } from "../../workflows/contracts/mod.ts";
import { machineDeployments, patchStatus, readObject, type RolloutObject, rollouts } from "../kube/resources.ts";
import { revisionAnnotation } from "../kube/machine_deployment.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { caBundlesIn, withBundle } from "../status/ca_record.ts";
import { keepRollout, knownRollout } from "../status/known_rollouts.ts";
import { trustedCas } from "../status/ca_bundle.ts";
import { finalizer, ownerOf } from "./identity.ts";
import { profileRef } from "./read_profile.ts";
import { areUsable, fits, timesOf } from "./publication.ts";
import { inOrder } from "./artefacts.ts";
import { type Publisher, readWork, type Work, writePublication } from "./publish_config.ts";

interface RestOrder {
  pool: PoolRef;
  rest: Rest;
}

type Renewed = Extract<RestRenewal, { renewAt: string }>;

/**
 * Renews due credentials, and records their times on the Rollout. Writes nothing, and returns "RolloutNeeded" or
 * "Unserved", if the pool has changed since its rollout or Ostler no longer manages it.
 */
export function renewResting(publisher: Publisher, order: RestOrder): Promise<RestRenewal> {
  const { pool } = order;
  return attempting(`renew the credentials of "${ownerOf(pool)}"`, async () => {
    const renewed = await renewAtRest(publisher, order).catch((error: unknown) => {
      // A permanent error is not thrown: the rollout that follows fails with the same error, and reports it.
      if (error instanceof ApplicationFailure && error.nonRetryable) return undefined;
      throw error;
    });
    return renewed ?? { news: await isServed(publisher, pool) ? "RolloutNeeded" : "Unserved" };
  });
}

/** Maximum age (ms) of an answer that the renewals of many pools share. */
const sharedFreshMs = 10_000;

/**
 * Renews due credentials and records their times; returns undefined, and writes nothing, if anything has changed since
 * the rollout.
 */
async function renewAtRest(publisher: Publisher, { pool, rest }: RestOrder): Promise<Renewed | undefined> {
  const { kube } = publisher;
  const seen = { specHash: rest.specHash, goodSpecHash: rest.specHash };
  // Shared answers may be outdated. A config rendered from them then differs from the published one, and nothing is
  // written.
  const work = await readWork({ ...publisher, freshMs: sharedFreshMs }, { pool, revision: "", seen });
  const { annotations = {} } = work.rendered.deployment.metadata;
  const found = { ...work, order: { pool, revision: annotations[revisionAnnotation] ?? "" } };
  if (!isAsLeft(found, rest)) return undefined;
  const standing = inOrder(work.standing);
  if (await areUsable(kube, pool, standing)) {
    return await noted(kube, found, { news: "None", ...timesOf(pool, standing) });
  }
  const { expiresAt, renewAt } = await writePublication(publisher, found, "Renewed");
  return await noted(kube, found, { news: "Renewed", expiresAt, renewAt });
}

function isAsLeft({ order, rendered, standing }: Work, { observed }: Rest): boolean {
  const { finalizers = [] } = rendered.deployment.metadata;
  return rendered.observed === observed && finalizers.includes(finalizer) && fits(inOrder(standing), order, rendered);
}

/**
 * Records the times on the Rollout; returns undefined if it does not exist. Of two concurrent calls, the one with the
 * older times may write last; the next check corrects them.
 */
async function noted(
  kube: Cluster,
  { order: { pool }, rendered }: Work,
  renewed: Renewed,
): Promise<Renewed | undefined> {
  const { namespace, name } = pool;
  const { expiresAt, renewAt } = renewed;
  const status = { credentials: { expiresAt, renewAt } };
  const written = await ifFound(patchStatus(kube, rollouts, { namespace, name, status }));
  if (!written) return undefined;
  const now = await withCaBundle(kube, written, trustedCas(rendered.facts));
  if (knownRollout(kube, pool)) keepRollout(kube, pool, now);
  return renewed;
}

/**
 * Records the CA bundle on the Rollout if it is missing there. It can be missing only if the last run was of an Ostler
 * version that did not record bundles: any change of the bundle itself would have required a rollout.
 */
async function withCaBundle(kube: Cluster, rollout: RolloutObject, trusted: TrustedCas): Promise<RolloutObject> {
  const caBundles = withBundle(caBundlesIn(rollout.status), trusted, Date.now());
  if (!caBundles) return rollout;
  const { namespace, name, resourceVersion } = rollout.metadata;
  const status = { caBundles };
  return await ifFound(patchStatus(kube, rollouts, { namespace, name, resourceVersion, status })) ?? rollout;
}

/** Returns whether the MachineDeployment still exists, is not being deleted, and still names a profile. */
async function isServed({ kube, profileNamespace }: Publisher, pool: PoolRef): Promise<boolean> {
  const deployment = await ifFound(readObject(kube, machineDeployments, pool));
  if (!deployment || deployment.metadata.deletionTimestamp) return false;
  return profileRef(deployment, profileNamespace) !== undefined;
}
