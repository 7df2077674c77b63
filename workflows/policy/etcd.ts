/** What etcd says about letting a machine of a control plane go; for all others it says nothing. */
import type { PoolSnapshot } from "../contracts/mod.ts";

/** Whether anything is in doubt but the machine itself: one that serves nobody may go all the same. */
export function isEtcdInDoubt({ etcd }: Pick<PoolSnapshot, "etcd">, beside?: string): boolean {
  return etcd?.doubts.some(({ machine }) => machine === undefined || machine !== beside) ?? false;
}

/** The picture of a pool without the doubts that a person took upon himself; what is told anew is in doubt anew. */
export function withoutTaken(pool: PoolSnapshot, taken: readonly string[]): PoolSnapshot {
  const { etcd } = pool;
  if (!etcd || taken.length === 0) return pool;
  return { ...pool, etcd: { ...etcd, doubts: etcd.doubts.filter(({ says }) => !taken.includes(says)) } };
}
