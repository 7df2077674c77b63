/**
 * The Rollouts that this process read or wrote last. They may be out of date, so a write that is based on a kept
 * Rollout names its resourceVersion, and a refused write requires a new read.
 */
import type { Cluster } from "../cluster.ts";
import { Shelf } from "../kube/cache.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { readObject, type RolloutObject, rollouts } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";

/**
 * The Rollouts that were read or written last, by pool; null for an absent Rollout. A few are enough, because a run
 * writes a Rollout soon after its read.
 */
const rolloutsKept = new Shelf<RolloutObject | null>(1_000);

/** Reads the Rollout of a pool, and keeps it; undefined if it does not exist. */
export async function readRollout(kube: Cluster, pool: PoolRef): Promise<RolloutObject | undefined> {
  const { namespace, name } = pool;
  forgetRollout(kube, pool);
  const found = await ifFound(readObject(kube, rollouts, { namespace, name }));
  if (!found) keep(kube, pool, null);
  return found && keepRollout(kube, pool, found);
}

/** Returns whether the Rollout did not exist when this process last read it. */
export function isKnownToBeAbsent(kube: Cluster, pool: PoolRef): boolean {
  return kube.cache.shelf(rolloutsKept).get(keyOf(pool)) === null;
}

/** Returns the Rollout as this process last read or wrote it; undefined if it is not kept, or did not exist then. */
export function knownRollout(kube: Cluster, pool: PoolRef): RolloutObject | undefined {
  return kube.cache.shelf(rolloutsKept).get(keyOf(pool)) ?? undefined;
}

/** Keeps a Rollout that a read or a write returned, unless its resourceVersion is unknown; returns the Rollout. */
export function keepRollout(kube: Cluster, pool: PoolRef, rollout: RolloutObject): RolloutObject {
  forgetRollout(kube, pool);
  if (rollout.metadata.resourceVersion !== undefined) keep(kube, pool, rollout);
  return rollout;
}

function keep(kube: Cluster, pool: PoolRef, rollout: RolloutObject | null): void {
  kube.cache.shelf(rolloutsKept).set(keyOf(pool), rollout);
}

/** Makes the next caller read the Rollout again. */
export function forgetRollout(kube: Cluster, pool: PoolRef): void {
  kube.cache.shelf(rolloutsKept).delete(keyOf(pool));
}

function keyOf({ namespace, name }: PoolRef): string {
  return `${namespace}/${name}`;
}
