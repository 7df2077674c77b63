/** Counts of machines in progress, computed once for all rules of a plan. */
import type { Member, PoolSnapshot } from "../contracts/mod.ts";
import type { SupplierView } from "./supplier.ts";
import type { Situation } from "./turn.ts";

export interface Census {
  /**
   * Number of machines that have an instance or may get one. Machines being deleted count; new machines that Ostler
   * holds before they boot do not.
   */
  booted: number;
  /** `booted` without the machines being deleted. */
  staying: number;
  /**
   * Number of machines that may exist above the replicas; if 0, a replacement begins with the drain of the old machine.
   */
  room: number;
  /**
   * Maximum of `booted`: the replicas plus `room`, and one more for each machine that is set aside, if the owner
   * creates an extra machine for it.
   */
  most: number;
  /**
   * Number of machines that their owner is expected to create, possibly of an old
   * template, and that boot without being admitted by Ostler.
   */
  owed: number;
  /**
   * Number of machines that are updated or whose update has begun: machines of the target template that are not held,
   * admitted machines, and machines being updated in place.
   */
  started: number;
  /**
   * Number of machines that have not passed their gates yet: new machines that were admitted or boot without admission,
   * and machines being updated in place.
   */
  joins: number;
  /**
   * Number of machines among `joins` that are Ready; for each of them, the owner may already have removed an old
   * machine.
   */
  unproven: number;
  /**
   * Number of machines being deleted for which the current wave waits; machines set aside, which could not be drained,
   * do not count.
   */
  going: number;
  /**
   * Number of machines being deleted that are being drained or that Ostler does not hold; machines set aside, which
   * could not be drained, do not count.
   */
  draining: number;
  /** Number of machines being deleted that Ostler holds and has not begun to drain. */
  idle: number;
  /** Old machines that are chosen to be replaced but are not being deleted yet. */
  chosen: Set<string>;
  /** Whether all remaining old machines are kept on purpose. */
  onlyKeptRemain: boolean;
}

/**
 * Counts the machines, including the effects of steps that the run has begun, because the pool snapshot may be older
 * than these steps.
 */
export function censusOf(situation: Situation): Census {
  const { pool, busy, setAside, supplier, desired } = situation;
  const { counts } = pool;
  const room = supplier.roomOf(desired);
  const coming = comingIds(situation);
  const admitted = pool.waiting.filter(({ id }) => busy.joining.includes(id)).length;
  const seen = new Set([...pool.waiting, ...pool.joining].map(({ id }) => id));
  const booted = counts.machines - counts.held + admitted;
  const idle = pool.leaving.filter((member) => isIdle(situation, member)).length;
  const leaving = counts.leaving - pool.leaving.filter(({ id }) => setAside.includes(id)).length;
  return {
    booted,
    staying: booted - counts.leaving,
    room,
    most: desired.replicas + room + (supplier.capabilities.makesUpForAside ? setAside.length : 0),
    owed: supplier.owedOf(viewOf(situation)),
    started: counts.updated - updatedHeld(situation) + admitted + pool.old.filter(isUpdating(situation)).length,
    joins: coming.size,
    unproven: [...coming].filter((id) => !seen.has(id)).length,
    // If no machine may exist above the replicas, an old machine is removed before a new one joins. Old machines that
    // wait for their drain then do not delay the wave.
    going: room === 0 ? leaving - idle : leaving,
    draining: leaving - idle,
    idle,
    chosen: chosenIds(situation),
    onlyKeptRemain: !isMoreLeft(pool) && pool.old.every((member) => isKept(situation, member)),
  };
}

/** Returns whether the pool has old machines that the snapshot does not list and that may be replaced. */
export function isMoreLeft({ counts, old, unlisted = {} }: PoolSnapshot): boolean {
  return counts.old > Object.values(unlisted).reduce((sum, number) => sum + number, old.length);
}

/** Returns whether the machine is kept on purpose, or is held before it boots. */
export function isKept({ skipped, setAside }: Situation, { id, phase, kept }: Member): boolean {
  return kept !== undefined || skipped.includes(id) || setAside.includes(id) || phase === "Held";
}

/** Returns whether a leaving machine is held by Ostler and its drain has not begun. */
export function isIdle({ busy, setAside }: Situation, { id, held }: Member): boolean {
  return held && !busy.leaving.includes(id) && !setAside.includes(id);
}

/**
 * Returns a test for machines that are being updated in place, including those that have had no task since a restart.
 */
export function isUpdating({ busy, updatesBegun = {} }: Situation): (member: Pick<Member, "id">) => boolean {
  return ({ id }) => id in updatesBegun || (busy.updating?.includes(id) ?? false);
}

// Returns the ids of the machines that `joins` counts. Excludes machines in `booting` whose template was abandoned,
// because these count as old machines.
function comingIds({ pool, busy, booting, updatesBegun = {} }: Situation): Set<string> {
  const waiting = new Set(pool.waiting.filter(({ id }) => !busy.joining.includes(id)).map(({ id }) => id));
  const others = new Set(pool.old.concat(pool.leaving).map(({ id }) => id));
  const ids = [...Object.keys(booting), ...pool.joining.map(({ id }) => id), ...busy.joining];
  const coming = ids.filter((id) => !waiting.has(id) && !others.has(id));
  const begun = Object.entries(updatesBegun).filter(([, { isOut }]) => !isOut).map(([id]) => id);
  return new Set([...coming, ...begun, ...(busy.updating ?? [])]);
}

function updatedHeld({ pool }: Situation): number {
  return pool.counts.held - pool.old.filter(({ phase }) => phase === "Held").length;
}

function chosenIds(situation: Situation): Set<string> {
  const { pool, busy } = situation;
  const isNext = nextOf(situation);
  // A new machine may be marked for removal until it has passed its gates. Such a machine is not counted as chosen: it
  // is in phase Held before it boots, and is not held after that. Machines that are updated in place are never chosen
  // to be replaced.
  if (!situation.supplier.capabilities.updates.includes("Replace")) return new Set();
  const chosen = (member: Member): boolean =>
    member.phase !== "Held" && isNext(member) &&
    ((member.marked && member.held) || (busy.victims?.includes(member.id) ?? false));
  return new Set(pool.old.filter(chosen).map(({ id }) => id));
}

/**
 * Returns a test for the old machines that their owner may remove next, apart from the machines that Ostler keeps on
 * purpose.
 */
export function nextOf(situation: Situation): (member: Member) => boolean {
  return situation.supplier.nextOf(situation.pool.old.filter((each) => !isKept(situation, each)));
}

/** Returns the input for the rules of the machines' owner. */
export function viewOf({ desired, pool, busy }: Situation): SupplierView {
  return { desired, pool, repairing: busy.repairing };
}
