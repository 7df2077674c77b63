/**
 * The Rollouts that this process has read or written last. What is known may be out of date: a write that builds on it
 * names its resourceVersion, and where that is refused it has to be read again.
 */
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { readObject, type RolloutObject, rollouts } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";

/** Rollouts that are kept, those used last: each is read once and written at once, by a run of its pool. */
const most = 1_000;

/** Null where there was none. */
const known = new WeakMap<object, Map<string, RolloutObject | null>>();

/** Reads the Rollout of a pool, and keeps it; undefined where there is none. */
export async function readRollout(kube: Kube, pool: PoolRef): Promise<RolloutObject | undefined> {
  const { namespace, name } = pool;
  forgetRollout(kube, pool);
  const found = await ifFound(readObject(kube, rollouts, { namespace, name }));
  if (!found) keep(kube, pool, null);
  return found && keepRollout(kube, pool, found);
}

/** There was none when this process looked last. */
export function isKnownToBeAbsent(kube: Kube, pool: PoolRef): boolean {
  return known.get(kube.core)?.get(keyOf(pool)) === null;
}

/** The Rollout as it was when this process had to do with it last; nothing that could not be named by its version. */
export function knownRollout(kube: Kube, pool: PoolRef): RolloutObject | undefined {
  return known.get(kube.core)?.get(keyOf(pool)) ?? undefined;
}

/** Keeps what a read or a write has answered. */
export function keepRollout(kube: Kube, pool: PoolRef, rollout: RolloutObject): RolloutObject {
  forgetRollout(kube, pool);
  if (rollout.metadata.resourceVersion !== undefined) keep(kube, pool, rollout);
  return rollout;
}

function keep(kube: Kube, pool: PoolRef, rollout: RolloutObject | null): void {
  const kept = known.get(kube.core) ?? new Map<string, RolloutObject | null>();
  known.set(kube.core, kept);
  kept.set(keyOf(pool), rollout);
  for (const oldest of kept.keys()) {
    if (kept.size <= most) break;
    kept.delete(oldest);
  }
}

/** Has the next one who needs it read it. */
export function forgetRollout(kube: Kube, pool: PoolRef): void {
  known.get(kube.core)?.delete(keyOf(pool));
}

function keyOf({ namespace, name }: PoolRef): string {
  return `${namespace}/${name}`;
}
