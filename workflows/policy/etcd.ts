/** Whether etcd allows the removal of a control plane machine; other machines have no etcd status. */
import type { PoolSnapshot } from "../contracts/mod.ts";

/**
 * Returns whether etcd has a problem that is not a problem of machine `beside`: problems of a lost machine do not block
 * its own removal.
 */
export function isEtcdInDoubt({ etcd }: Pick<PoolSnapshot, "etcd">, beside?: string): boolean {
  return etcd?.doubts.some(({ machine }) => machine === undefined || machine !== beside) ?? false;
}

/**
 * Returns whether the machine's own member is the only problem of etcd. While a voter is lost, etcd accepts no new
 * member: new machines wait for the removal of this machine, so the removal must not wait for them.
 */
export function isLostMember(pool: Pick<PoolSnapshot, "etcd">, machine: string): boolean {
  const isItsOwn = pool.etcd?.doubts.some((doubt) => doubt.machine === machine) ?? false;
  return isItsOwn && !isEtcdInDoubt(pool, machine);
}

/**
 * Returns the pool without the etcd problems that a person accepted, identified by their exact text; a problem whose
 * text has changed is not left out.
 */
export function withoutTaken(pool: PoolSnapshot, taken: readonly string[]): PoolSnapshot {
  const { etcd } = pool;
  if (!etcd || taken.length === 0) return pool;
  return { ...pool, etcd: { ...etcd, doubts: etcd.doubts.filter(({ says }) => !taken.includes(says)) } };
}
