/**
 * The Rollouts that this process has read or written last. What is known may be out of date: a write that builds on it
 * names its resourceVersion, and where that is refused it has to be read again.
 */
import type { Cluster } from "../cluster.ts";
import { Shelf } from "../kube/cache.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { readObject, type RolloutObject, rollouts } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";

/** Rollouts by pool, those used last: each is read once and written at once, by a run of its pool. Null where there was none. */
const rolloutsKept = new Shelf<RolloutObject | null>(1_000);

/** Reads the Rollout of a pool, and keeps it; undefined where there is none. */
export async function readRollout(kube: Cluster, pool: PoolRef): Promise<RolloutObject | undefined> {
  const { namespace, name } = pool;
  forgetRollout(kube, pool);
  const found = await ifFound(readObject(kube, rollouts, { namespace, name }));
  if (!found) keep(kube, pool, null);
  return found && keepRollout(kube, pool, found);
}

/** There was none when this process looked last. */
export function isKnownToBeAbsent(kube: Cluster, pool: PoolRef): boolean {
  return kube.cache.shelf(rolloutsKept).get(keyOf(pool)) === null;
}

/** The Rollout as it was when this process had to do with it last; nothing that could not be named by its version. */
export function knownRollout(kube: Cluster, pool: PoolRef): RolloutObject | undefined {
  return kube.cache.shelf(rolloutsKept).get(keyOf(pool)) ?? undefined;
}

/** Keeps what a read or a write has answered. */
export function keepRollout(kube: Cluster, pool: PoolRef, rollout: RolloutObject): RolloutObject {
  forgetRollout(kube, pool);
  if (rollout.metadata.resourceVersion !== undefined) keep(kube, pool, rollout);
  return rollout;
}

function keep(kube: Cluster, pool: PoolRef, rollout: RolloutObject | null): void {
  kube.cache.shelf(rolloutsKept).set(keyOf(pool), rollout);
}

/** Has the next one who needs it read it. */
export function forgetRollout(kube: Cluster, pool: PoolRef): void {
  kube.cache.shelf(rolloutsKept).delete(keyOf(pool));
}

function keyOf({ namespace, name }: PoolRef): string {
  return `${namespace}/${name}`;
}
