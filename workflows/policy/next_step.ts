/** What to do next with a pool: a pure function of what is desired and what is there. */
import type { Desired, Member, PoolSnapshot } from "../contracts.ts";

export type Step =
  /** Nothing is left to do. */
  | { kind: "converged" }
  /** A machine on its way out is held by us: drain it and let it go. */
  | { kind: "finish"; victim: Member }
  /** Machines that stay carry a mark or a hold of an earlier change: take it back. */
  | { kind: "spare"; machines: Member[] }
  /** Machines boot that nobody has to admit: see them join. */
  | { kind: "join"; machines: Member[] }
  /** One machine in; and one out where the pool is full. */
  | { kind: "replace"; newcomer: Member; victim: Member | undefined }
  /** It is somebody else's turn. */
  | { kind: "settle"; waitsFor: string };

/** Decides by a list of rules, first match wins: what is under way is finished before anything new begins. */
export function nextStep(desired: Desired, pool: PoolSnapshot): Step {
  const ours = pool.leaving.find((member) => member.held);
  if (ours && isSpareable(desired, pool)) return { kind: "finish", victim: ours };
  if (pool.stale.length > 0) return { kind: "spare", machines: pool.stale };
  const loose = pool.joining[0];
  if (loose && pool.old.length > 0 && hasSpare(desired, pool)) {
    return { kind: "replace", newcomer: loose, victim: pool.old[0] };
  }
  if (pool.joining.length > 0) return { kind: "join", machines: pool.joining };
  const newcomer = pool.waiting[0];
  if (newcomer && !isFull(desired, pool)) return { kind: "replace", newcomer, victim: victimFor(desired, pool) };
  return isConverged(desired, pool) ? { kind: "converged" } : { kind: "settle", waitsFor: waitsFor(desired, pool) };
}

/** Machines that have or may get an instance: held newcomers are paper, leaving ones still run. */
export function booted(pool: PoolSnapshot): number {
  return pool.counts.machines - pool.counts.held;
}

function isFull(desired: Desired, pool: PoolSnapshot): boolean {
  return booted(pool) >= desired.replicas + desired.surge;
}

// A newcomer that boots without us, in a full pool, will push out an old machine: then one of our choice.
function hasSpare(desired: Desired, pool: PoolSnapshot): boolean {
  return booted(pool) - pool.counts.leaving > desired.replicas;
}

/** A victim may only go when those that stay are enough by themselves. */
function isSpareable(desired: Desired, pool: PoolSnapshot): boolean {
  return desired.surge === 0 || pool.counts.ready >= desired.replicas;
}

/** Below the wanted number a newcomer is added without a victim: scaling is never a replacement. */
function victimFor(desired: Desired, pool: PoolSnapshot): Member | undefined {
  const staying = booted(pool) - pool.counts.leaving;
  return staying >= desired.replicas ? pool.old[0] : undefined;
}

function isConverged(desired: Desired, pool: PoolSnapshot): boolean {
  const { machines, updatedReady } = pool.counts;
  return machines === desired.replicas && updatedReady === desired.replicas;
}

function waitsFor(desired: Desired, pool: PoolSnapshot): string {
  const { machines, held, leaving, old, updated } = pool.counts;
  const ours = pool.leaving.find((member) => member.held);
  if (ours) return `others to be Ready before ${ours.id} may go`;
  if (leaving > 0) return `${leaving} machine(s) to go`;
  if (updated < desired.replicas && held === 0) return "machine-controller to create a machine";
  if (old > 0 || machines > desired.replicas) return "machine-controller to remove a machine";
  return "every machine to be Ready";
}
