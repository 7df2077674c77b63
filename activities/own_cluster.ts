/** Whose pools are served: those of the worker's own cluster, as names of pools and machines mean others elsewhere. */
import type { ClusterObject, PoolRef } from "../workflows/contracts/mod.ts";
import { refused } from "./failures.ts";

type Step = (input: never) => Promise<unknown>;

/** The same steps, each of which refuses a pool of another cluster before it looks at anything; "" is the one without a name. */
export function withOwnCluster<Steps extends Record<keyof Steps, Step>>(cluster: string, steps: Steps): Steps {
  const guarded = Object.entries<Step>(steps).map(([name, step]): [string, Step] => [name, async (input) => {
    const { pool, object } = input as { pool?: PoolRef; object?: ClusterObject };
    if (object && (object.cluster ?? "") !== cluster) {
      const state = `it is of ${named(object.cluster ?? "")}, and this worker of ${named(cluster)}`;
      throw refused("ObjectInvalid", `Cannot do "${name}" for "${object.name}": ${state}`);
    }
    if (pool && (pool.cluster ?? "") !== cluster) {
      const state = `it is of ${named(pool.cluster ?? "")}, and this worker of ${named(cluster)}`;
      throw refused("ObjectInvalid", `Cannot do "${name}" for pool "${pool.namespace}/${pool.name}": ${state}`);
    }
    return await step(input);
  }]);
  return Object.fromEntries(guarded) as Steps;
}

function named(cluster: string): string {
  return cluster === "" ? "the cluster without a name" : `cluster "${cluster}"`;
}
