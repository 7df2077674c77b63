/**
 * Where no machine is removed before we say so, the planner sees those whose turn has come as others show them: on their
 * way out and held, so that what it knows of drains, budgets and waves holds for them too.
 */
import type { Member, PoolSnapshot } from "../contracts/mod.ts";
import { machinesOf } from "./amounts.ts";
import { censusOf, isKept } from "./census.ts";
import type { Census } from "./census.ts";
import { victimsOf } from "./order.ts";
import type { Situation } from "./turn.ts";

/** The situation with those on their way out whom nobody but us removes; the same where a supplier does it by itself. */
export function withRemovals(situation: Situation): Situation {
  const { supplier, busy, setAside } = situation;
  if (supplier.capabilities.removal === "ByItself") return situation;
  const begun = situation.pool.old.filter(({ id }) => busy.leaving.includes(id) || setAside.includes(id));
  const known = { ...situation, pool: leavingFrom(situation.pool, begun) };
  const census = censusOf(known);
  const next = census.room === 0 ? firstToGo(known, census) : replacedOf(known, census);
  return { ...known, pool: leavingFrom(known.pool, next) };
}

/** Those in whose place others stand: chosen ones, and old ones that are too many. */
function replacedOf(situation: Situation, census: Census): Member[] {
  const { pool, desired: { replicas } } = situation;
  const coming = census.joins + pool.old.filter(isComing).length;
  const left = { staying: census.staying, joined: census.staying - coming, ready: pool.counts.ready };
  const byTurn = [...pool.old].sort((a, b) => Number(census.chosen.has(b.id)) - Number(census.chosen.has(a.id)));
  const gone = byTurn.filter((member) => {
    // One that never joined is missed by nobody; one that serves, or may again, has to have another in its place.
    const others = isComing(member) ? left.staying : member.phase === "Ready" ? left.ready : left.joined;
    if (isKept(situation, member) || others <= replicas) return false;
    left.staying -= 1;
    if (!isComing(member)) left.joined -= 1;
    if (member.phase === "Ready") left.ready -= 1;
    return true;
  });
  // An ill one serves nobody: no other has to get Ready before it may go.
  return gone.map((member) => member.ill ? { ...member, lost: true } : member);
}

function isComing({ phase }: Member): boolean {
  return phase === "Provisioning" || phase === "Booting" || phase === "Joining";
}

/** Without room one has to go before another comes: as many as may be out, of which pacing lets go who may. */
function firstToGo(situation: Situation, census: Census): Member[] {
  const { rules, desired, pool } = situation;
  const victims = victimsOf(situation, census);
  const most = machinesOf(rules.budget.machines, desired.replicas) - pool.counts.leaving;
  const first = Array.from({ length: Math.max(0, most) }, () => victims.take(() => true));
  return first.filter((member) => member !== null);
}

function leavingFrom(pool: PoolSnapshot, members: readonly Member[]): PoolSnapshot {
  if (members.length === 0) return pool;
  const ids = new Set(members.map(({ id }) => id));
  const stays = ({ id }: Member): boolean => !ids.has(id);
  const { counts } = pool;
  return {
    ...pool,
    counts: {
      ...counts,
      old: counts.old - members.length,
      leaving: counts.leaving + members.length,
      ready: counts.ready - members.filter(({ phase }) => phase === "Ready").length,
      ill: counts.ill - members.filter(({ ill }) => ill).length,
    },
    old: pool.old.filter(stays),
    ill: pool.ill.filter(stays),
    leaving: [...pool.leaving, ...members.map((member) => ({ ...member, phase: "Leaving" as const, held: true }))],
  };
}
