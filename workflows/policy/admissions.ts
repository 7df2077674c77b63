/** Which newcomers boot now, and who goes for them. */
import type { Member } from "../contracts/mod.ts";
import { holdsAll } from "./blocks.ts";
import { hasRoomFor, withJoin, withVictim } from "./budget.ts";
import type { Budget } from "./budget.ts";
import type { Census } from "./census.ts";
import { victimsOf } from "./order.ts";
import type { Victims } from "./order.ts";
import type { Situation, Step } from "./turn.ts";

export interface Admissions {
  steps: Step[];
  /** Newcomers wait and nothing forbids them but a budget that is spent. */
  isSpent: boolean;
}

interface Hall {
  situation: Situation;
  census: Census;
  budget: Budget;
  victims: Victims;
  /** Machines that may be updated in this wave. */
  upTo: number;
  attempts: number[];
}

/** Newcomers that are held, in their order, and those that boot unasked; `open` when replacements may begin. */
export function admissionsOf(
  situation: Situation,
  { census, budget, upTo, open }: { census: Census; budget: Budget; upTo: number; open: boolean },
): Admissions {
  const attempts = [...situation.retries].sort((a, b) => b - a);
  const hall: Hall = { situation, census, budget, upTo, attempts, victims: victimsOf(situation, census) };
  const seen = joinsOf(hall);
  const { steps, isSpent } = admitHeld(hall, open);
  return { steps: [...seen, ...steps], isSpent };
}

/** Who boots already: seen to join, and where it will push out an old machine, one of our choice. */
function joinsOf(hall: Hall): Step[] {
  const { situation, census } = hall;
  const { pool, busy, booting, desired } = situation;
  let owed = census.staying - desired.replicas - census.chosen.size;
  const loose = pool.joining.filter(({ id }) => !busy.joining.includes(id));
  const joins = loose.map((newcomer): Step => {
    const attempt = booting[newcomer.id]?.attempt ?? hall.attempts.shift() ?? 0;
    const victim = owed-- > 0 ? hall.victims.takeAny() : null;
    if (victim) return { kind: "admit", newcomer, victim, attempt };
    return { kind: "join", machine: newcomer.id, attempt };
  });
  return [...joins, ...forgotten(situation)];
}

// After a restart nobody watches them any more.
function forgotten({ pool, busy, booting }: Situation): Step[] {
  const seen = new Set([...pool.waiting, ...pool.joining].map(({ id }) => id).concat(busy.joining));
  const lost = Object.entries(booting).filter(([id]) => !seen.has(id));
  return lost.map(([machine, { attempt }]) => ({ kind: "join", machine, attempt }));
}

function admitHeld(hall: Hall, open: boolean): Admissions {
  const { situation, census } = hall;
  const { pool, busy, desired } = situation;
  const steps: Step[] = [];
  const most = mostMissing(situation);
  const upTo = Math.min(hall.upTo, desired.replicas);
  const isReplaced = situation.supplier.capabilities.updates.includes("Replace");
  for (const newcomer of pool.waiting.filter(({ id }) => !busy.joining.includes(id))) {
    const [booted, staying] = [census.booted + steps.length, census.staying + steps.length];
    if (booted >= census.most) break;
    const isMissing = staying + census.owed < desired.replicas;
    if ((staying < desired.replicas && !isMissing) || (isMissing && steps.length >= most)) break;
    if (!isMissing && (!isReplaced || !open || most < Infinity || census.started + steps.length >= upTo)) break;
    const victim = isMissing ? null : nextVictim(hall);
    if (isMissing) hall.budget = withJoin(hall.budget);
    if (!isMissing && !victim) return { steps, isSpent: hall.victims.remain };
    const attempt = situation.booting[newcomer.id]?.attempt ?? hall.attempts.shift() ?? 0;
    steps.push({ kind: "admit", newcomer, victim, attempt });
  }
  return { steps, isSpent: false };
}

// A repair goes on while it is paused, and takes two: one that goes, and one that comes.
function mostMissing(situation: Situation): number {
  if (!holdsAll(situation)) return Infinity;
  return situation.quarantined && !situation.rollingBack ? 0 : situation.repaired?.length ?? 0;
}

function nextVictim(hall: Hall): Member | null {
  const victim = hall.victims.take((member) => hasRoomFor(hall.budget, member));
  if (victim) hall.budget = withVictim(hall.budget, victim);
  return victim;
}
