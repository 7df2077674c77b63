/**
 * Maps a NodePool to a pool. A NodePool is in a namespace in which a MachineDeployment can have the same name, so the
 * objects of the pool, such as its Rollout, have a prefixed name.
 */
import type { PoolRef } from "../contracts/mod.ts";

const prefix = "node-pool.";

/** Returns the pool of the NodePool of that name. */
export function poolOfNodePool(namespace: string, name: string, cluster?: string): PoolRef {
  const pool: PoolRef = { kind: "NodePool", namespace, name: `${prefix}${name}` };
  return cluster === undefined ? pool : { cluster, ...pool };
}

/** Returns the name of a pool's NodePool; undefined for a name without the prefix. */
export function nodePoolOf({ name }: Pick<PoolRef, "name">): string | undefined {
  return name.startsWith(prefix) && name.length > prefix.length ? name.slice(prefix.length) : undefined;
}
