/** Which new machines to admit now, and which machines they replace. */
import type { Member } from "../contracts/mod.ts";
import { holdsAll } from "./blocks.ts";
import { hasRoomFor, withJoin, withVictim } from "./budget.ts";
import type { Budget } from "./budget.ts";
import type { Census } from "./census.ts";
import { victimsOf } from "./order.ts";
import type { Victims } from "./order.ts";
import type { Situation, Step } from "./turn.ts";

interface Admissions {
  steps: Step[];
  /** Whether new machines wait only because the budget is spent. */
  isSpent: boolean;
}

interface Admission {
  situation: Situation;
  census: Census;
  budget: Budget;
  victims: Victims;
  /** Number of machines that may be updated up to and including this wave. */
  upTo: number;
  /**
   * The number of the next attempt for each failed machine, the highest first; the next admitted machines get these
   * numbers.
   */
  attempts: number[];
}

/**
 * Returns the steps for new machines that are held, and for machines that already boot; `open` is whether replacements
 * may begin.
 */
export function admissionsOf(
  situation: Situation,
  { census, budget, upTo, open }: { census: Census; budget: Budget; upTo: number; open: boolean },
): Admissions {
  const attempts = [...situation.retries].sort((a, b) => b - a);
  const admission: Admission = { situation, census, budget, upTo, attempts, victims: victimsOf(situation, census) };
  const seen = joinsOf(admission);
  const { steps, isSpent } = admitHeld(admission, open);
  return { steps: [...seen, ...steps], isSpent };
}

/**
 * Returns the steps for machines that already boot. If there are more machines above the replicas than old machines
 * that are chosen to be replaced, chooses another old machine for each surplus machine.
 */
function joinsOf(admission: Admission): Step[] {
  const { situation, census, attempts, victims } = admission;
  const { pool, busy, booting, desired } = situation;
  let owed = census.staying - desired.replicas - census.chosen.size;
  const loose = pool.joining.filter(({ id }) => !busy.joining.includes(id));
  const joins = loose.map((newcomer): Step => {
    const attempt = booting[newcomer.id]?.attempt ?? attempts.shift() ?? 0;
    const victim = owed-- > 0 ? victims.takeAny() : null;
    if (victim) return { kind: "admit", newcomer, victim, attempt };
    return { kind: "join", machine: newcomer.id, attempt };
  });
  return [...joins, ...unwatched(situation)];
}

// Returns join steps for booting machines that the snapshot does not list: after a restart, no task waits for them.
function unwatched({ pool, busy, booting }: Situation): Step[] {
  const seen = new Set([...pool.waiting, ...pool.joining].map(({ id }) => id).concat(busy.joining));
  const lost = Object.entries(booting).filter(([id]) => !seen.has(id));
  return lost.map(([machine, { attempt }]) => ({ kind: "join", machine, attempt }));
}

function admitHeld(admission: Admission, open: boolean): Admissions {
  const { situation, census } = admission;
  const { pool, busy, desired } = situation;
  const steps: Step[] = [];
  const most = mostMissing(situation);
  const upTo = Math.min(admission.upTo, desired.replicas);
  const isReplaced = situation.supplier.capabilities.updates.includes("Replace");
  for (const newcomer of pool.waiting.filter(({ id }) => !busy.joining.includes(id))) {
    const [booted, staying] = [census.booted + steps.length, census.staying + steps.length];
    if (booted >= census.most) break;
    const isMissing = staying + census.owed < desired.replicas;
    if ((staying < desired.replicas && !isMissing) || (isMissing && steps.length >= most)) break;
    if (!isMissing && (!isReplaced || !open || most < Infinity || census.started + steps.length >= upTo)) break;
    const victim = isMissing ? null : nextVictim(admission);
    if (isMissing) admission.budget = withJoin(admission.budget);
    if (!isMissing && !victim) return { steps, isSpent: admission.victims.remain };
    const attempt = situation.booting[newcomer.id]?.attempt ?? admission.attempts.shift() ?? 0;
    steps.push({ kind: "admit", newcomer, victim, attempt });
  }
  return { steps, isSpent: false };
}

// Returns how many new machines may be admitted in place of missing ones: normally any number. While the rollout is
// paused, only as many as unhealthy machines were removed; for a quarantined change, none.
function mostMissing(situation: Situation): number {
  if (!holdsAll(situation)) return Infinity;
  return situation.quarantined && !situation.rollingBack ? 0 : situation.repaired?.length ?? 0;
}

function nextVictim(admission: Admission): Member | null {
  const victim = admission.victims.take((member) => hasRoomFor(admission.budget, member));
  if (victim) admission.budget = withVictim(admission.budget, victim);
  return victim;
}
