/**
 * The budget: how many machines may be out or changing at once. The only formula:
 *
 *   changing = the larger of
 *                machines above the replicas, which replacements add from admission until the old machine is gone,
 *                and joins + leaving - (joins that are Ready and unproven, whose old machine may be leaving already)
 *              + unhealthy machines being repaired
 *              + machines out of service after a failed update in place
 *   `ill`    = machines that joined and are unhealthy, not leaving, and neither chosen to be replaced nor being
 *              repaired nor updated in place
 *
 * A machine that is updated in place counts as a join from cordon to uncordon.
 *
 * To replace a healthy machine, `changing + ill` must be less than the budget. To replace an unhealthy machine, only
 * `changing` must be less than the budget: the machine was out of service before, and must never block its own
 * replacement. For a repair, `repairing` must be less than the budget; it does not count leaving machines that are held
 * and still serve, or that were set aside.
 */
import type { Member } from "../contracts/mod.ts";
import { machinesOf, type Situation } from "./turn.ts";
import { isUpdating } from "./census.ts";
import type { Census } from "./census.ts";

export interface Budget {
  total: number;
  changing: number;
  ill: number;
  /** Number of machines in progress that count against the budget when a repair is to begin. */
  repairing: number;
}

/** Returns what is spent of the budget before any new step begins. */
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

/** Returns the number of unhealthy machines that are being repaired. */
export function repairsIn({ pool, busy }: Pick<Situation, "pool" | "busy">): number {
  return pool.ill.filter(({ id }) => busy.repairing.includes(id)).length;
}

/** Returns the number of machines that are out of service after a failed update in place. */
function outOf({ updatesBegun = {} }: Situation): number {
  return Object.values(updatesBegun).filter(({ isOut }) => isOut).length;
}

/** Returns whether the budget permits the replacement of this machine, in addition to the steps already in progress. */
export function hasRoomFor({ total, changing, ill }: Budget, victim: Member): boolean {
  return (victim.ill ? changing : changing + ill) < total;
}

/** Returns the budget after the replacement of this machine begins. */
export function withVictim(budget: Budget, victim: Member): Budget {
  return { ...budget, changing: budget.changing + 1, ill: budget.ill - (victim.ill && !victim.marked ? 1 : 0) };
}

/**
 * Returns the budget after a new machine for a missing one is admitted, which is always allowed but counts as a join.
 */
export function withJoin(budget: Budget): Budget {
  return { ...budget, changing: budget.changing + 1 };
}
