/**
 * A NodePool as a pool: it is in a namespace, where a MachineDeployment may have its name. What belongs to a pool, such as its
 * Rollout, has a name of its own there.
 */
import type { PoolRef } from "../contracts/mod.ts";

const prefix = "node-pool.";

/** The pool of the NodePool of that name. */
export function poolOfNodePool(namespace: string, name: string, cluster?: string): PoolRef {
  const pool: PoolRef = { kind: "NodePool", namespace, name: `${prefix}${name}` };
  return cluster === undefined ? pool : { cluster, ...pool };
}

/** The name of a pool's NodePool; undefined for what is no name of one. */
export function nodePoolOf({ name }: Pick<PoolRef, "name">): string | undefined {
  return name.startsWith(prefix) && name.length > prefix.length ? name.slice(prefix.length) : undefined;
}
