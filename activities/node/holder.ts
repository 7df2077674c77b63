/** Values of annotations that name the pool for which Ostler holds a machine, or marks or cordons a node. */
import type { PoolKind, PoolRef } from "../../workflows/contracts/mod.ts";

/**
 * The part of an annotation value that names the kind of a pool; a PoolRef without a kind is of the default backend.
 */
const words: Partial<Record<PoolKind, string>> = { ScalingGroup: "scaling-group", NodePool: "node-pool" };

/**
 * Returns the annotation value of a pool's holds, marks and cordons. Holds, marks and cordons with another value are
 * never changed for this pool.
 */
export function holderOf({ cluster, kind, namespace, name }: PoolRef): string {
  const id = `${(kind && words[kind]) ?? "machine-deployment"}/${namespace}/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** Returns the pool that a hold, a mark or a cordon of Ostler names; undefined for any other value. */
export function holderIn(value: string): PoolRef | undefined {
  const [, cluster, word, namespace, name] = holderPattern.exec(value) ?? [];
  if (!namespace || !name) return undefined;
  const kind = (Object.keys(words) as PoolKind[]).find((each) => words[each] === word);
  return { ...(cluster === undefined ? {} : { cluster }), ...(kind ? { kind } : {}), namespace, name };
}

const holderPattern = /^(?:([^/]+)\/)?(machine-deployment|scaling-group|node-pool)\/([^/]+)\/([^/]+)$/;

/**
 * Returns whether a hold or mark belongs to the pool, with any cluster name or none: an API server serves one cluster,
 * which may have been renamed, and the admission policy and the webhook write no name.
 */
export function isOwnHold(pool: PoolRef, value: string | undefined): boolean {
  const held = holderIn(value ?? "");
  return held !== undefined && plainOf(held) === plainOf(pool);
}

/** Returns the annotation value of a pool without the name of its cluster. */
function plainOf({ cluster: _, ...pool }: PoolRef): string {
  return holderOf(pool);
}
