/** Which machines to drain and release, which to uncordon and unmark, and which unhealthy machines to repair. */
import type { Member, PoolSnapshot } from "../contracts/mod.ts";
import { type Budget, hasRoomFor, repairsIn } from "./budget.ts";
import { type Census, censusOf, isIdle, isKept, isUpdating, viewOf } from "./census.ts";
import { isEtcdInDoubt, isLostMember } from "./etcd.ts";
import { surplus, victimsOf } from "./order.ts";
import { machinesOf, type Situation, type Step } from "./turn.ts";

/**
 * Returns the machines to uncordon and unmark: all with a mark or hold of an earlier change, then marked machines that
 * are now skipped or kept. Returns at most as many skipped and kept machines as there are chosen machines that no new
 * machine will replace. Leaves the mark on new machines that have not passed their gates: if their template is
 * abandoned meanwhile, the owner removes them rather than machines that serve.
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
 * Returns the machines to uncordon because their update in place was cancelled, or its run was ended. If they stayed
 * cordoned, they would be out of service, without being counted, while they fetch their image again. Excludes machines
 * whose update begins now, and machines whose update failed, which stay out of service on purpose.
 */
function idleUpdates(situation: Situation, updates: readonly Step[]): Step[] {
  const isBegun = isUpdating(situation);
  const taken = new Set(updates.flatMap((step) => step.kind === "update" ? [step.machine.id] : []));
  const idle = situation.pool.old.filter((each) => each.marked && each.kept !== "Failed" && !isBegun(each));
  return idle.filter(({ id }) => !taken.has(id)).map((machine) => ({ kind: "spare", machine }));
}

/**
 * Returns the leaving machines that Ostler holds and may now drain and release: with zero replicas all of them, but
 * never a machine whose node is unclear. A machine without a node serves no pods and is released at once. While the
 * change is quarantined, no old machine with a node is released. Otherwise a machine with a lost node is released if
 * etcd has no problem apart from that machine. A machine whose node is not lost is released only if etcd and the policy
 * allow the removal and enough machines are Ready; if no machine may exist above the replicas, `paced` limits such
 * machines instead.
 */
export function leavesOf(situation: Situation, census: Census, room: Room): Step[] {
  // If the node may belong to another machine, a drain or a deletion could affect that machine.
  const idle = situation.pool.leaving.filter((member) => isIdle(situation, member) && member.kept !== "Unclear");
  // With zero replicas, no window, wave or failed change needs to protect a machine.
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

/**
 * Returns whether etcd and the policy allow the removal of a machine. Control planes stay while policies conflict,
 * because the policy decides where the snapshot of etcd is stored.
 */
function mayLeave({ pool, rules }: Situation): boolean {
  return !isEtcdInDoubt(pool) && (pool.etcd === undefined || rules.conflict === null);
}

interface Room {
  budget: Budget;
  /** Number of machines that may be updated up to and including this wave. */
  upTo: number;
  /** Whether replacements may begin. */
  open: boolean;
}

function isQuarantinedAway({ quarantined, rollingBack, desired }: Situation, { templateHash }: Member): boolean {
  return quarantined && !rollingBack && templateHash !== desired.templateHash;
}

/**
 * Returns whether enough machines are Ready and have passed their gates, so that a machine that serves may be drained.
 */
export function isEnoughReady(situation: Situation): boolean {
  return situation.supplier.isEnoughReady(viewOf(situation));
}

// Returns the machines that may be drained now if no machine may exist above the replicas: a replacement then begins
// with the drain, so the limits of admissions apply to drains.
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
    // An unhealthy machine was out of service before its drain, so the drain takes nothing more of the budget.
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
  /** When the next repair is due (epoch ms); null for never. */
  next: number | null;
}

/**
 * Returns the repairs of unhealthy machines that are due. An old machine is replaced by the rollout instead. Only if
 * replacements cannot begin now (`open` is false, the budget is spent, or the pool is full), an old machine is repaired
 * with a new machine of its own template.
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
  // If the machine of a lost etcd member is due for repair, no other machine is, because the lost member blocks other
  // removals. Joins wait for this repair, so they do not count against its budget.
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
  // The repair of a machine whose Kubernetes is being upgraded is due only after the upgrade has returned its slot.
  if (isBusy || (kept !== undefined && kept !== "Upgrading")) return false;
  // A machine that is chosen to be replaced needs no repair, unless no new machine will replace it, or new machines
  // cannot join.
  const isGoing = census.chosen.has(id) && surplus(situation, census) === 0;
  if (isGoing && !isLostMember(situation.pool, id)) return false;
  if (templateHash === desired.templateHash) return !quarantined || rollingBack;
  return !open || census.booted >= census.most;
}

// One unhealthy machine is never too many, otherwise a pool of two would never be repaired.
function isTooMany({ pool, rules }: Situation, { booted }: Census): boolean {
  const { ill } = pool.counts;
  return ill > 1 && ill * 100 > rules.repair.maxUnhealthy * booted;
}

// If only Ostler removes machines, the planner treats the machines to be removed next as leaving and held, which is how
// other backends report such machines. So the rules of drains, budgets and waves apply to them too.

/** Returns the situation with the machines to be removed as leaving; unchanged if the owner removes them by itself. */
export function withRemovals(situation: Situation): Situation {
  const { supplier, busy, setAside } = situation;
  if (supplier.capabilities.removal === "ByItself") return situation;
  const begun = situation.pool.old.filter(({ id }) => busy.leaving.includes(id) || setAside.includes(id));
  const known = { ...situation, pool: leavingFrom(situation.pool, begun) };
  const census = censusOf(known);
  const next = census.room === 0 ? firstToLeave(known, census) : replacedOf(known, census);
  return { ...known, pool: leavingFrom(known.pool, next) };
}

/** Returns the old machines that have been replaced: chosen machines first, then machines above the replicas. */
function replacedOf(situation: Situation, census: Census): Member[] {
  const { pool, desired: { replicas } } = situation;
  const coming = census.joins + pool.old.filter(isComing).length;
  const left = { staying: census.staying, joined: census.staying - coming, ready: pool.counts.ready };
  const byTurn = [...pool.old].sort((a, b) => Number(census.chosen.has(b.id)) - Number(census.chosen.has(a.id)));
  const gone = byTurn.filter((member) => {
    // A machine that never joined serves no pods; a machine that serves, or may serve again, needs a replacement first.
    const others = isComing(member) ? left.staying : member.phase === "Ready" ? left.ready : left.joined;
    if (isKept(situation, member) || others <= replicas) return false;
    left.staying -= 1;
    if (!isComing(member)) left.joined -= 1;
    if (member.phase === "Ready") left.ready -= 1;
    return true;
  });
  // An unhealthy machine serves no pods, so it is released before other machines are Ready.
  return gone.map((member) => member.ill ? { ...member, lost: true } : member);
}

function isComing({ phase }: Member): boolean {
  return phase === "Provisioning" || phase === "Booting" || phase === "Joining";
}

/**
 * Returns the old machines to drain before new machines join, because no machine may exist above the replicas: at most
 * as many as the budget permits. `paced` limits them further.
 */
function firstToLeave(situation: Situation, census: Census): Member[] {
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
