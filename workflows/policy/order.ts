/** Who goes next: the order is the pool's, the zones are the policy's. */
import type { Member } from "../contracts/mod.ts";
import { machinesOf, type Situation } from "./turn.ts";
import { isKept, isUpdating, nextOf } from "./census.ts";
import type { Census } from "./census.ts";

/** Hands out victims one by one. */
export interface Victims {
  /** The next old machine that fits, which is not handed out again; null when none may go. */
  take(fits: (member: Member) => boolean): Member | null;
  /** The same, whatever the zones say. */
  takeAny(): Member | null;
  /** Somebody is left who may go one day. */
  remain: boolean;
}

/** The old machines of a turn in their order, without those that are chosen already or stay on purpose. */
export function victimsOf(situation: Situation, census: Census): Victims {
  const { pool } = situation;
  const isNext = nextOf(situation);
  const candidates = pool.old.filter((each) => !isKept(situation, each) && !census.chosen.has(each.id) && isNext(each));
  const free = orphans(situation, census);
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
    remain: candidates.length > 0 || free.length > 0 || pool.counts.old > pool.old.length,
  };
}

/**
 * More are chosen than newcomers will push out, as some of those are no more: the next ones take them over. Newcomers and
 * victims are no pairs, so any of the chosen will do.
 */
function orphans(situation: Situation, census: Census): Member[] {
  const chosen = situation.pool.old.filter(({ id }) => census.chosen.has(id));
  return chosen.slice(0, surplus(situation, census)).filter((each) => !isKept(situation, each));
}

/** How many more machines are chosen than newcomers will push out. */
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
      // It serves nobody where it is, and who makes the machines waits for nobody's zones to be rid of it.
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

/** The zones in which something is under way, maybe of an earlier change; else the first in which something is left to do. */
function zonesNow(situation: Situation, { chosen }: Census, candidates: Member[]): string[] {
  const { pool, setAside, desired } = situation;
  const going = pool.leaving.filter((each) =>
    each.node !== undefined && each.templateHash !== desired.templateHash && !setAside.includes(each.id)
  );
  const marked = pool.old.filter((each) => isOut(each, chosen) || isUpdating(situation)(each));
  const underWay = [...going, ...marked].map(zoneOf);
  return underWay.length > 0 ? underWay : candidates.map(zoneOf).sort().slice(0, 1);
}

/** Chosen, also when another is taken before it by now. */
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
