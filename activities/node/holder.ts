/** Whose a hold, a mark or a cordon is. */
import type { PoolKind, PoolRef } from "../../workflows/contracts/mod.ts";

/** Absent is the usual kind. */
const words: Partial<Record<PoolKind, string>> = { ScalingGroup: "scaling-group", NodePool: "node-pool" };

/** The value of our holds and marks, for the kind of a pool and its name: nobody else's are ever touched. */
export function holderOf({ cluster, kind, namespace, name }: PoolRef): string {
  const id = `${(kind && words[kind]) ?? "machine-deployment"}/${namespace}/${name}`;
  return cluster === undefined ? id : `${cluster}/${id}`;
}

/** The pool that a hold, a mark or a cordon of ours is of; undefined for what is nobody's of ours. */
export function holderIn(value: string): PoolRef | undefined {
  const [, cluster, namespace, name] = /^(?:([^/]+)\/)?machine-deployment\/([^/]+)\/([^/]+)$/.exec(value) ?? [];
  if (!namespace || !name) return undefined;
  return cluster === undefined ? { namespace, name } : { cluster, namespace, name };
}

/** A hold or mark is the pool's own: also one of before its cluster had a name, or of the API server's policy, which knows none. */
export function isOwnHold(pool: PoolRef, value: string | undefined): boolean {
  const { cluster: _, ...plain } = pool;
  return value === holderOf(pool) || value === holderOf(plain);
}
