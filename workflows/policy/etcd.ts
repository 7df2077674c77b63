/** What etcd says about letting a machine of a control plane go; for all others it says nothing. */
import type { PoolSnapshot } from "../contracts/mod.ts";

/** Whether anything is in doubt but the machine itself: one that serves nobody may go all the same. */
export function isEtcdInDoubt({ etcd }: Pick<PoolSnapshot, "etcd">, beside?: string): boolean {
  return etcd?.doubts.some(({ machine }) => machine === undefined || machine !== beside) ?? false;
}

/**
 * Whether its own member is all that etcd has against it. While a voter is gone etcd takes nobody in: who comes waits for this
 * one to be removed, which must not wait for who comes.
 */
export function isLostMember(pool: Pick<PoolSnapshot, "etcd">, machine: string): boolean {
  const isItsOwn = pool.etcd?.doubts.some((doubt) => doubt.machine === machine) ?? false;
  return isItsOwn && !isEtcdInDoubt(pool, machine);
}

/** The picture of a pool without the doubts that a person took upon himself; what is told anew is in doubt anew. */
export function withoutTaken(pool: PoolSnapshot, taken: readonly string[]): PoolSnapshot {
  const { etcd } = pool;
  if (!etcd || taken.length === 0) return pool;
  return { ...pool, etcd: { ...etcd, doubts: etcd.doubts.filter(({ says }) => !taken.includes(says)) } };
}
