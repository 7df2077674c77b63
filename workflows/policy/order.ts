/** Which machines to replace next, in the order of the pool and within the zone rules of the policy. */
import type { Member } from "../contracts/mod.ts";
import { machinesOf, type Situation } from "./turn.ts";
import { isKept, isMoreLeft, isUpdating, nextOf } from "./census.ts";
import type { Census } from "./census.ts";

/** An iterator over the old machines that may be replaced next. */
export interface Victims {
  /**
   * Returns the next old machine for which `fits` is true and that the zone rules allow; never returns a machine twice.
   * Null if no machine may be replaced now.
   */
  take(fits: (member: Member) => boolean): Member | null;
  /** Returns the next old machine regardless of zones; null if none remains. */
  takeAny(): Member | null;
  /** Whether old machines remain that may be replaced now or later. */
  remain: boolean;
}

/**
 * Returns an iterator over the old machines in the order of the pool, without machines that are kept on purpose.
 * Machines that are already chosen come first if no new machine will replace them; otherwise they are left out.
 */
export function victimsOf(situation: Situation, census: Census): Victims {
  const { pool } = situation;
  const isNext = nextOf(situation);
  const candidates = pool.old.filter((each) => !isKept(situation, each) && !census.chosen.has(each.id) && isNext(each));
  const free = reusableOf(situation, census);
  const zones = zoneRules(situation, census, candidates);
  const taken = new Set<string>();
  const take = (from: Member[], fits: (member: Member) => boolean): Member | undefined => {
    const victim = from.find((each) => !taken.has(each.id) && fits(each));
    if (victim) taken.add(victim.id);
    return victim;
  };
  const takeNext = (fits: (member: Member) => boolean): Member | null => {
    const victim = take(candidates, fits);
    if (victim) zones.note(victim);
    return victim ?? null;
  };
  return {
    take: (fits) => take(free, fits) ?? takeNext((each) => fits(each) && zones.allow(each)),
    takeAny: () => takeNext(() => true),
    remain: candidates.length > 0 || free.length > 0 || isMoreLeft(pool),
  };
}

/**
 * Returns chosen machines whose new machine is gone, for the next new machines to replace. New and old machines are not
 * paired, so any chosen machine will do.
 */
function reusableOf(situation: Situation, census: Census): Member[] {
  const chosen = situation.pool.old.filter(({ id }) => census.chosen.has(id));
  return chosen.slice(0, surplus(situation, census)).filter((each) => !isKept(situation, each));
}

/** Returns the number of chosen machines that no new machine will replace. */
export function surplus({ desired }: Situation, { chosen, staying }: Census): number {
  return chosen.size - Math.min(chosen.size, Math.max(0, staying - desired.replicas));
}

interface ZoneRules {
  allow(member: Member): boolean;
  note(victim: Member): void;
}

function zoneRules(situation: Situation, census: Census, candidates: Member[]): ZoneRules {
  const { rules, desired } = situation;
  const { perZone, zones } = rules.budget;
  const most = perZone === null ? Infinity : machinesOf(perZone, desired.replicas);
  const current = zones === "OneAfterAnother" ? zonesNow(situation, census, candidates) : undefined;
  const out = perZone === null ? new Map<string, number>() : outByZone(situation, census);
  return {
    allow(member): boolean {
      // An unhealthy machine serves no pods in its zone, and the owner of the machines removes it regardless of zones.
      if (member.ill) return true;
      return (out.get(zoneOf(member)) ?? 0) < most && (current?.every((zone) => zone === zoneOf(member)) ?? true);
    },
    note(victim): void {
      if (!victim.ill) out.set(zoneOf(victim), (out.get(zoneOf(victim)) ?? 0) + 1);
    },
  };
}

function zoneOf({ zone }: Member): string {
  return zone ?? "";
}

/** Returns the zones with machines in progress, possibly of an earlier change; else the first zone with candidates. */
function zonesNow(situation: Situation, { chosen }: Census, candidates: Member[]): string[] {
  const { pool, setAside, desired } = situation;
  const going = pool.leaving.filter((each) =>
    each.node !== undefined && each.templateHash !== desired.templateHash && !setAside.includes(each.id)
  );
  const marked = pool.old.filter((each) => isOut(each, chosen) || isUpdating(situation)(each));
  const underWay = [...going, ...marked].map(zoneOf);
  return underWay.length > 0 ? underWay : candidates.map(zoneOf).sort().slice(0, 1);
}

/** Returns whether the machine was chosen to be replaced, even if the owner will remove another one first. */
function isOut({ id, phase, marked, held }: Member, chosen: Set<string>): boolean {
  return chosen.has(id) || (phase !== "Held" && marked && held);
}

function outByZone(situation: Situation, { chosen }: Census): Map<string, number> {
  const { pool, busy } = situation;
  const out = new Map<string, number>();
  const isBegun = isUpdating(situation);
  const marked = pool.old.filter((each) => isOut(each, chosen) || isBegun(each));
  const ill = pool.ill.filter(({ id }) => (!chosen.has(id) && !isBegun({ id })) || busy.repairing.includes(id));
  for (const member of [...pool.leaving, ...marked, ...ill]) {
    out.set(zoneOf(member), (out.get(zoneOf(member)) ?? 0) + 1);
  }
  return out;
}
