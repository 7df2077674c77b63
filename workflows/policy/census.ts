/** What is on its way in a pool, counted once for all rules of a turn. */
import type { Member } from "../contracts/mod.ts";
import type { SupplierView } from "./supplier.ts";
import type { Situation } from "./turn.ts";

export interface Census {
  /** Machines that have an instance or may get one: held newcomers are paper, leaving ones still run. */
  booted: number;
  /** The same without those that leave. */
  staying: number;
  /** Machines that may be there above the wanted ones; with none, a replacement begins with the drain. */
  room: number;
  /** Machines that may be there at most. */
  most: number;
  /** Machines that the supplier is about to make, maybe of an old template, which then boot unasked. */
  owed: number;
  /** Of the target template, admitted or there. */
  started: number;
  /** Machines that were admitted, or boot unasked, and have not passed yet. */
  joins: number;
  /** Of these, Ready ones: the supplier may already have removed a machine for each. */
  unproven: number;
  /** Leaving machines that hold up what comes after them; nobody set them aside. */
  going: number;
  /** Of the leaving ones those that we do not hold back any more. */
  draining: number;
  /** Leaving ones that we hold and have not begun to drain. */
  idle: number;
  /** Old machines that are chosen to go and have not been asked to. */
  chosen: Set<string>;
  /** No old machine is left but those that stay on purpose. */
  onlyKeptRemain: boolean;
}

/** Counts; a look at the pool may be older than what the run has begun since. */
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
    // Without room one goes before another comes; those that wait for their turn hold up no wave.
    going: room === 0 ? leaving - idle : leaving,
    draining: leaving - idle,
    idle,
    chosen: chosenIds(situation),
    onlyKeptRemain: counts.old <= pool.old.length && pool.old.every((member) => isKept(situation, member)),
  };
}

/** Stays on purpose, or is no machine yet. */
export function isKept({ skipped, setAside }: Situation, { id, phase, kept }: Member): boolean {
  return kept !== undefined || skipped.includes(id) || setAside.includes(id) || phase === "Held";
}

/** On its way out, but held by us and not begun. */
export function isIdle({ busy, setAside }: Situation, { id, held }: Member): boolean {
  return held && !busy.leaving.includes(id) && !setAside.includes(id);
}

/** It is being updated where it stands; also where nobody sees to it since a restart. */
export function isUpdating({ busy, updatesBegun = {} }: Situation): (member: Pick<Member, "id">) => boolean {
  return ({ id }) => id in updatesBegun || (busy.updating?.includes(id) ?? false);
}

// A machine that failed for good is kept busy; once its template is left it is just an old one.
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
  // Newcomers may bear a mark too, until they have passed: as paper they go for nobody, and running ones nobody holds.
  // Who is updated where it stands goes for nobody.
  if (!situation.supplier.capabilities.updates.includes("Replace")) return new Set();
  const chosen = (member: Member): boolean =>
    member.phase !== "Held" && isNext(member) &&
    ((member.marked && member.held) || (busy.victims?.includes(member.id) ?? false));
  return new Set(pool.old.filter(chosen).map(({ id }) => id));
}

/** Who of the old machines the supplier may take next. */
export function nextOf(situation: Situation): (member: Member) => boolean {
  return situation.supplier.nextOf(situation.pool.old.filter((each) => !isKept(situation, each)));
}

/** What a supplier is asked about. */
export function viewOf({ desired, pool, busy }: Situation): SupplierView {
  return { desired, pool, repairing: busy.repairing };
}
