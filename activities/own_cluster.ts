/** Limits a worker to the pools of its own cluster, because in another cluster the same names mean other objects. */
import type { ClusterObject, PoolRef } from "../workflows/contracts/mod.ts";
import { refused } from "./failures.ts";

type Step = (input: never) => Promise<unknown>;

/**
 * Returns the same activities, each of which first refuses a pool or object of another cluster; "" is the cluster
 * without a name.
 */
export function withOwnCluster<Steps extends Record<keyof Steps, Step>>(cluster: string, steps: Steps): Steps {
  const guarded = Object.entries<Step>(steps).map(([name, step]): [string, Step] => [name, async (input) => {
    const { pool, object } = input as { pool?: PoolRef; object?: ClusterObject };
    if (object && (object.cluster ?? "") !== cluster) {
      const state = `the object belongs to ${named(object.cluster ?? "")}, but this worker serves ${named(cluster)}`;
      throw refused("ObjectInvalid", `Failed to run activity "${name}" for "${object.name}": ${state}`);
    }
    if (pool && (pool.cluster ?? "") !== cluster) {
      const state = `the pool belongs to ${named(pool.cluster ?? "")}, but this worker serves ${named(cluster)}`;
      throw refused(
        "ObjectInvalid",
        `Failed to run activity "${name}" for pool "${pool.namespace}/${pool.name}": ${state}`,
      );
    }
    return await step(input);
  }]);
  return Object.fromEntries(guarded) as Steps;
}

function named(cluster: string): string {
  return cluster === "" ? "the cluster without a name" : `cluster "${cluster}"`;
}
