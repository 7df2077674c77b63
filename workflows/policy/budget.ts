/**
 * How many machines may be out or changing at once. The one formula:
 *
 *   changing = the larger of
 *                machines above the wanted number, which are what replacements add from admission until a victim is gone,
 *                and joins + leaving - (joins that are Ready and unproven, whose victim may be leaving already)
 *              + ill machines being repaired
 *   ill      = machines that joined and are ill, not leaving, neither chosen to go nor being repaired or updated in place
 *
 * A machine that is updated in place counts among the joins, from its cordon to the end of it.
 *
 * A healthy victim needs changing + ill < budget. An ill one needs changing < budget: it was out before, and replacing it
 * must never be blocked by itself. So does a repair, which leaves out who is held and still serves, and who was set aside.
 */
import type { Member } from "../contracts/mod.ts";
import { machinesOf, type Situation } from "./turn.ts";
import { isUpdating } from "./census.ts";
import type { Census } from "./census.ts";

export interface Budget {
  total: number;
  changing: number;
  ill: number;
  /** What counts for repairs. */
  repairing: number;
}

/** What is spent before anything new begins. */
export function spent(situation: Situation, census: Census): Budget {
  const { rules, desired, pool, busy } = situation;
  const { joins, unproven, booted, chosen } = census;
  const { leaving } = pool.counts;
  const isBegun = isUpdating(situation);
  const draining = Math.max(0, census.draining);
  const repairs = repairsIn(situation);
  const above = Math.max(0, booted - desired.replicas);
  const isKnown = ({ id }: Member): boolean => chosen.has(id) || busy.repairing.includes(id) || isBegun({ id });
  const known = pool.ill.filter(isKnown).length;
  return {
    total: machinesOf(rules.budget.machines, desired.replicas),
    changing: Math.max(above, joins + leaving - Math.min(unproven, leaving)) + repairs + outOf(situation),
    ill: pool.counts.ill - known,
    repairing: joins + draining - Math.min(unproven, draining) + repairs,
  };
}

/** Ill machines that are being repaired. */
export function repairsIn({ pool, busy }: Pick<Situation, "pool" | "busy">): number {
  return pool.ill.filter(({ id }) => busy.repairing.includes(id)).length;
}

/** Updated in place, failed, and out of service since. */
function outOf({ updatesBegun = {} }: Situation): number {
  return Object.values(updatesBegun).filter(({ isOut }) => isOut).length;
}

/** Whether one more may go. */
export function hasRoomFor({ total, changing, ill }: Budget, victim: Member): boolean {
  return (victim.ill ? changing : changing + ill) < total;
}

/** What is spent once it goes. */
export function withVictim(budget: Budget, victim: Member): Budget {
  return { ...budget, changing: budget.changing + 1, ill: budget.ill - (victim.ill && !victim.marked ? 1 : 0) };
}

/** What is spent once a missing machine is added: nothing forbids that, but it joins like any other. */
export function withJoin(budget: Budget): Budget {
  return { ...budget, changing: budget.changing + 1 };
}
