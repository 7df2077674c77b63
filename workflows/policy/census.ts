/** What is on its way in a pool, counted once for all rules of a turn. */
import type { Member } from "../contracts/mod.ts";
import type { Situation } from "./turn.ts";

export interface Census {
  /** Machines that have an instance or may get one: held newcomers are paper, leaving ones still run. */
  booted: number;
  /** The same without those that leave. */
  staying: number;
  /** Machines that machine-controller is about to make, maybe of an old template, which then boot unasked. */
  owed: number;
  /** Of the target template, admitted or there. */
  started: number;
  /** Machines that were admitted, or boot unasked, and have not passed yet. */
  joins: number;
  /** Of these, Ready ones: machine-controller may already have removed a machine for each. */
  unproven: number;
  /** Leaving machines that nobody set aside. */
  going: number;
  /** Leaving ones that we hold and have not begun to drain: they still serve. */
  idle: number;
  /** Old machines that are chosen to go and have not been asked to. */
  chosen: Set<string>;
  /** No old machine is left but those that stay on purpose. */
  onlyKeptRemain: boolean;
}

/** Counts; a look at the pool may be older than what the run has begun since. */
export function censusOf(situation: Situation): Census {
  const { pool, busy, setAside } = situation;
  const { counts } = pool;
  const coming = comingIds(situation);
  const admitted = pool.waiting.filter(({ id }) => busy.joining.includes(id)).length;
  const seen = new Set([...pool.waiting, ...pool.joining].map(({ id }) => id));
  const booted = counts.machines - counts.held + admitted;
  const idle = pool.leaving.filter((member) => isIdle(situation, member)).length;
  const going = counts.leaving - pool.leaving.filter(({ id }) => setAside.includes(id)).length;
  return {
    booted,
    staying: booted - counts.leaving,
    owed: owedOf(situation),
    started: counts.updated - updatedHeld(situation) + admitted,
    joins: coming.size,
    unproven: [...coming].filter((id) => !seen.has(id)).length,
    // Without surge machine-controller removes before it adds; those that wait for their turn hold up no wave.
    going: situation.desired.surge === 0 ? going - idle : going,
    idle,
    chosen: chosenIds(situation),
    onlyKeptRemain: counts.old <= pool.old.length && pool.old.every((member) => isKept(situation, member)),
  };
}

/** Stays on purpose, or is no machine yet. */
export function isKept({ skipped, setAside }: Situation, { id, phase }: Member): boolean {
  return skipped.includes(id) || setAside.includes(id) || phase === "Held";
}

/** On its way out, but held by us and not begun. */
export function isIdle({ busy, setAside }: Situation, { id, held }: Member): boolean {
  return held && !busy.leaving.includes(id) && !setAside.includes(id);
}

// While it rolls, machine-controller keeps as many machines as are wanted and the surge; which ones is for it to say.
function owedOf({ pool, busy, desired }: Situation): number {
  const { machines, leaving, updated, old } = pool.counts;
  const isOld = ({ templateHash }: Member): boolean => templateHash !== desired.templateHash;
  if (updated < desired.replicas) {
    const isRolling = old > 0 || pool.leaving.some(isOld);
    return isRolling ? Math.max(0, desired.replicas + desired.surge - (machines - leaving)) : 0;
  }
  return pool.leaving.filter((each) => isOld(each) && busy.repairing.includes(each.id)).length;
}

// A machine that failed for good is kept busy; once its template is left it is just an old one.
function comingIds({ pool, busy, booting }: Situation): Set<string> {
  const waiting = new Set(pool.waiting.filter(({ id }) => !busy.joining.includes(id)).map(({ id }) => id));
  const others = new Set(pool.old.concat(pool.leaving).map(({ id }) => id));
  const ids = [...Object.keys(booting), ...pool.joining.map(({ id }) => id), ...busy.joining];
  return new Set(ids.filter((id) => !waiting.has(id) && !others.has(id)));
}

function updatedHeld({ pool }: Situation): number {
  return pool.counts.held - pool.old.filter(({ phase }) => phase === "Held").length;
}

function chosenIds(situation: Situation): Set<string> {
  const { pool, busy } = situation;
  const oldest = oldestTemplate(situation);
  // Newcomers may bear a mark too, until they have passed: as paper they go for nobody, and running ones nobody holds.
  const chosen = (member: Member): boolean =>
    member.phase !== "Held" && isNext(member, oldest) &&
    ((member.marked && member.held) || (busy.victims?.includes(member.id) ?? false));
  return new Set(pool.old.filter(chosen).map(({ id }) => id));
}

/**
 * machine-controller takes machines that serve from the oldest of the old sets first, whatever is marked in others
 * (`scaleDownOldMachineSetsForRollingUpdate`); those that do not serve it takes from any (`cleanupUnhealthyReplicas`).
 */
export function isNext({ phase, templateHash }: Member, oldest: string | undefined): boolean {
  return phase !== "Ready" || oldest === undefined || templateHash === oldest;
}

/** The template of the oldest machine that may go; undefined when none may. */
export function oldestTemplate(situation: Situation): string | undefined {
  const oldest = situation.pool.old.reduce<Member | undefined>((found, each) => {
    return isKept(situation, each) || (found && found.since <= each.since) ? found : each;
  }, undefined);
  return oldest?.templateHash;
}
