/** Who may be drained and let go, who is spared, and who is ill enough to be replaced where it stands. */
import type { Member, PoolSnapshot } from "../contracts/mod.ts";
import { type Budget, hasRoomFor, repairsIn } from "./budget.ts";
import { type Census, censusOf, isIdle, isKept, isUpdating, viewOf } from "./census.ts";
import { isEtcdInDoubt, isLostMember } from "./etcd.ts";
import { surplus, victimsOf } from "./order.ts";
import { machinesOf, type Situation, type Step } from "./turn.ts";

/**
 * Marks and holds of an earlier change, or of a machine that a person skipped, or had protected, while another can go for it. A newcomer may
 * bear a mark until it has passed: when its template is left meanwhile, the supplier then takes it, and not one
 * that serves.
 */
export function sparesOf(situation: Situation, census: Census, updates: readonly Step[]): Step[] {
  const { pool, busy, booting, skipped, supplier } = situation;
  if (!supplier.capabilities.updates.includes("Replace")) return idleUpdates(situation, updates);
  const doing = new Set([busy.repairing, busy.leaving, busy.joining, Object.keys(booting)].flat());
  const stale = pool.stale.filter(({ id }) => !doing.has(id));
  const stays = ({ id, kept }: Member): boolean => kept !== undefined || skipped.includes(id);
  const kept = pool.old.filter((member) => member.marked && stays(member) && !busy.victims?.includes(member.id));
  const free = kept.slice(0, surplus(situation, census));
  return [...stale, ...free].map((machine) => ({ kind: "spare", machine }));
}

/**
 * Cordoned for an update that nobody goes on with, as it was called off or its run was ended. Only those that are taken now stay
 * so: any other would be out for as long as its image is fetched, and count nowhere. Who failed and did not get well stays
 * out on purpose.
 */
function idleUpdates(situation: Situation, updates: readonly Step[]): Step[] {
  const isBegun = isUpdating(situation);
  const taken = new Set(updates.flatMap((step) => step.kind === "update" ? [step.machine.id] : []));
  const idle = situation.pool.old.filter((each) => each.marked && each.kept !== "Failed" && !isBegun(each));
  return idle.filter(({ id }) => !taken.has(id)).map((machine) => ({ kind: "spare", machine }));
}

/**
 * Machines on their way out that we hold. One without a node serves nobody and may go at once. Nothing else goes that is
 * old while the change is quarantined: one whose node is lost serves nobody either, any other only when those that stay
 * are enough by themselves, and nothing about their etcd is in doubt.
 */
export function leavesOf(situation: Situation, census: Census, room: Room): Step[] {
  const idle = situation.pool.leaving.filter((member) => isIdle(situation, member));
  // A share of no machines is none, and nobody is wanted whom a window, a wave or a failed change could protect.
  if (situation.desired.replicas === 0) return idle.map((machine) => ({ kind: "leave", machine }));
  const bare = idle.filter(({ node }) => node === undefined);
  const there = idle.filter((member) => member.node !== undefined && !isQuarantinedAway(situation, member));
  const running = mayLeave(situation) ? there.filter(({ lost }) => !lost) : [];
  const free = census.room === 0
    ? paced(situation, census, { ...room, running })
    : isEnoughReady(situation)
    ? running
    : [];
  const lost = there.filter((member) => member.lost && !isEtcdInDoubt(situation.pool, member.id));
  return [...bare, ...lost, ...free].map((machine) => ({ kind: "leave", machine }));
}

/** Of control planes none goes by rules that nobody can tell: where a copy of etcd is kept is among them. */
function mayLeave({ pool, rules }: Situation): boolean {
  return !isEtcdInDoubt(pool) && (pool.etcd === undefined || rules.conflict === null);
}

interface Room {
  budget: Budget;
  /** Machines that may be updated in this wave. */
  upTo: number;
  /** Replacements may begin. */
  open: boolean;
}

function isQuarantinedAway({ quarantined, rollingBack, desired }: Situation, { templateHash }: Member): boolean {
  return quarantined && !rollingBack && templateHash !== desired.templateHash;
}

/** Enough others are proven for one that serves to go. */
export function isEnoughReady(situation: Situation): boolean {
  return situation.supplier.isEnoughReady(viewOf(situation));
}

// Without room the drain is where a replacement begins, so what paces admissions elsewhere paces drains here.
function paced(
  situation: Situation,
  census: Census,
  { budget, upTo, open, running }: Room & { running: Member[] },
): Member[] {
  const { desired, pool } = situation;
  const isOld = ({ templateHash }: Member): boolean => templateHash !== desired.templateHash;
  const serving = pool.counts.ready + running.filter(({ ill }) => !ill).length;
  let out = Math.max(0, desired.replicas - serving);
  let begun = census.started + Math.max(0, desired.replicas - census.staying - census.idle);
  const old = running.filter(isOld).filter((member) => {
    // One that is ill was out before.
    if (!open || begun >= upTo || out - (member.ill ? 1 : 0) >= budget.total) return false;
    begun += 1;
    if (!member.ill) out += 1;
    return true;
  });
  return [...(isEnoughReady(situation) ? running.filter((each) => !isOld(each)) : []), ...old];
}

export interface Repairs {
  steps: Step[];
  tooMany: boolean;
  /** The next one comes due (epoch ms); null for never. */
  next: number | null;
}

/**
 * Ill machines that are due. An old one is rather taken as the next victim, unless replacements cannot begin now
 * (`open` is false, the budget is spent, or the pool is full): then it gives way to another of its own template.
 */
export function repairsOf(situation: Situation, census: Census, { budget, open }: Room): Repairs {
  const { rules, pool, now } = situation;
  const isReplaced = situation.supplier.capabilities.updates.includes("Replace");
  if (!rules.repair.enabled || !isReplaced) return { steps: [], tooMany: false, next: null };
  const mine = pool.ill.filter((member) => {
    return member.ill && isRepairable(situation, census, { member, open: open && hasRoomFor(budget, member) });
  });
  const due = mine.filter(({ id, ill }) => ill !== undefined && ill.due <= now && !isEtcdInDoubt(pool, id));
  const later = mine.flatMap(({ ill }) => ill && ill.due > now ? [ill.due] : []);
  const next = later.length > 0 ? Math.min(...later) : null;
  const tooMany = due.length > 0 && isTooMany(situation, census);
  // A lost member of etcd is alone in this list, as it is a doubt about every other one.
  const isHolding = due.some(({ id }) => isLostMember(pool, id));
  const spent = isHolding ? repairsIn(situation) : budget.repairing;
  const room = tooMany ? 0 : Math.max(0, budget.total - spent);
  return { steps: due.slice(0, room).map((machine) => ({ kind: "repair", machine })), tooMany, next };
}

function isRepairable(
  situation: Situation,
  census: Census,
  { member, open }: { member: Member; open: boolean },
): boolean {
  const { busy, desired, setAside, skipped, quarantined, rollingBack } = situation;
  const { id, templateHash, kept } = member;
  const isBusy = [busy.joining, busy.leaving, busy.repairing, setAside, skipped].some((ids) => ids.includes(id));
  if (isBusy || kept !== undefined) return false;
  // One that is chosen is as good as gone, unless nobody comes for it, or can.
  const isGoing = census.chosen.has(id) && surplus(situation, census) === 0;
  if (isGoing && !isLostMember(situation.pool, id)) return false;
  if (templateHash === desired.templateHash) return !quarantined || rollingBack;
  return !open || census.booted >= census.most;
}

// One ill machine is never too many, or a pool of two would never be mended.
function isTooMany({ pool, rules }: Situation, { booted }: Census): boolean {
  const { ill } = pool.counts;
  return ill > 1 && ill * 100 > rules.repair.maxUnhealthy * booted;
}

// Where no machine is removed before we say so, the planner sees those whose turn has come as others show them: on their
// way out and held, so that what it knows of drains, budgets and waves holds for them too.

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
