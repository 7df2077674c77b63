/**
 * The declared size of a group: its size in the cloud without the machines that were ordered as replacements of
 * existing ones. During an order or removal the size in the cloud is uncertain, so the recorded number counts, unless
 * another controller has made the group larger meanwhile.
 */
import type { Instance } from "../../clouds/driver.ts";
import type { Asked, CloudSight } from "./sight.ts";
import { isAlive, isOf, type Order, type Removal } from "./records.ts";
import { type Ledger, patchLedger, written } from "./ledger.ts";
import { isLost, memberIdOf, orderOfInstance } from "./member.ts";
import type { Kube } from "../../kube/client.ts";

type Seen = Pick<CloudSight, "cloud" | "instances" | "records" | "nodes" | "at" | "moved">;

/** Returns whether the cloud has accepted an order, according to its answer or its list of instances. */
export function isReached({ id, providerId }: Order, instances: readonly Instance[]): boolean {
  return providerId !== "" || instances.some(({ token }) => token === id);
}

type Counted = Pick<Seen, "cloud" | "instances" | "records" | "at">;

/**
 * Returns the orders that have made the group larger by one machine each, and for which no removal of the new or the
 * replaced machine has made the group smaller again.
 */
export function openOrders(seen: Counted): Order[] {
  const closed = closedOutside(seen);
  return orderedAbove(seen).filter((order) => !closed.includes(order));
}

/** Returns the orders that have made the group larger, apart from those that a removal by Ostler has closed. */
function orderedAbove({ instances, records: { orders, removals } }: Pick<Seen, "instances" | "records">): Order[] {
  const gone = new Set(removals.filter(({ shrinks }) => shrinks).map(({ member }) => member));
  const alive = new Set(instances.filter((each) => isAlive(each)).map(memberIdOf));
  return orders.filter((order) => {
    const { id, donor, goal, isSettled } = order;
    if (donor === undefined || isSettled || gone.has(id) || !isReached(order, instances)) return false;
    // A withdrawn order counts while its instance exists, because its old machine stays or has another replacement.
    return goal === "Leave" ? alive.has(id) : alive.has(donor) || !gone.has(donor);
  });
}

/**
 * Milliseconds by which a machine may be older than an order and still count as created after it, because clocks differ.
 * A larger value could count a machine that an autoscaler added before, and then a serving machine would be drained.
 */
const slackMs = 60_000;

/**
 * Returns the orders that a removal outside of Ostler has closed: their new or replaced machine was deleted, and the
 * group became smaller by it. A group that keeps its size creates another machine instead, so as many orders stay open
 * as the group has created, or still lacks, machines without an order.
 */
export function closedOutside(seen: Counted): Order[] {
  const { cloud, records: { orders }, at } = seen;
  const alive = seen.instances.filter((each) => isAlive(each));
  const ids = new Set(alive.map(memberIdOf));
  const isGone = (order: Order): boolean =>
    isLost(order, at) && !alive.some((each) => each.token === order.id || isOf(order.providerId, each));
  const halved = orderedAbove(seen).filter((order) =>
    order.goal === "Join" && (!ids.has(order.donor ?? "") || isGone(order))
  );
  if (halved.length === 0) return [];
  const since = Math.min(...halved.map((order) => Date.parse(order.since))) - slackMs;
  const made = alive.filter((each) =>
    each.token === undefined && !orderOfInstance(orders, each) && Date.parse(each.since) >= since
  );
  const lacking = Math.max(0, cloud.size - alive.length);
  return halved.slice(0, Math.max(0, halved.length - made.length - lacking));
}

/**
 * Returns open orders whose old machine was removed outside of Ostler and replaced by the group, so that one machine is
 * surplus.
 */
export function orphansOf(seen: Counted): Order[] {
  const alive = new Set(seen.instances.filter((each) => isAlive(each)).map(memberIdOf));
  return openOrders(seen).filter(({ goal, donor = "" }) => goal === "Join" && !alive.has(donor));
}

/**
 * Returns the machine that the Constellation node operator ordered and then marked as obsolete, so that the group has
 * one machine too many. The operator had at most one such machine. Because nodes can mark themselves, a group shrinks
 * by one machine at a time and never below its minimum.
 */
export function obsoleteIn(
  { cloud, instances, records, nodes, at }: Counted & Pick<Seen, "nodes">,
): Instance[] {
  const open = openOrders({ cloud, instances, records, at });
  if (cloud.size - open.length <= cloud.min) return [];
  return instances.filter((each) => {
    const node = nodes.get(each.providerId.toLowerCase());
    const isInOrder = open.some(({ id }) => id === memberIdOf(each));
    return isAlive(each) && !each.isProtected && !isInOrder && node?.isObsolete && !node.isControlPlane;
  }).slice(0, 1);
}

/**
 * Returns the declared size of a group. While the size in the cloud is uncertain, the recorded size counts, if there is
 * one, and unless the group is larger than open orders and removals can explain.
 */
export function declaredSize(seen: Seen, { declared }: Pick<Ledger, "declared">): number {
  const obsolete = obsoleteIn(seen);
  const open = openOrders(seen);
  const reckoned = Math.max(0, seen.cloud.size - open.length - obsolete.length);
  const pending = removalsPending(seen);
  const isDeducted = ({ member }: Removal): boolean =>
    open.some(({ donor }) => donor === member) || obsolete.some((each) => memberIdOf(each) === member);
  const deducted = pending.filter(isDeducted).length;
  const least = reckoned - seen.moved - ordersPending(seen).length - (pending.length - deducted);
  const most = reckoned + seen.moved + deducted;
  if (least === most || declared === undefined) return reckoned;
  // The largest possible size counts: with a smaller one, machines that serve could be drained as surplus.
  return declared < least ? most : declared;
}

/** Returns the orders that may or may not have made the group larger yet. */
function ordersPending({ instances, records, at }: Pick<Seen, "instances" | "records" | "at">): Order[] {
  return records.orders.filter((order) => {
    return !isReached(order, instances) && (order.goal === "Join" || !isLost(order, at));
  });
}

/** Returns the removals that may or may not have made the group smaller yet. */
function removalsPending({ instances, records }: Pick<Seen, "instances" | "records">): Removal[] {
  const isThere = (providerId: string): boolean => instances.some((each) => isAlive(each) && isOf(providerId, each));
  return records.removals.filter(({ providerId, shrinks }) => shrinks && isThere(providerId));
}

/**
 * Records the declared size of a group before Ostler records an order or a removal that changes the group's size. While
 * the size in the cloud is uncertain, a size that is already recorded stays if it still counts.
 */
export async function noteSize(kube: Kube, { asked, seen }: { asked: Asked; seen: CloudSight }): Promise<void> {
  const { group: { metadata }, ledger } = asked;
  const declared = declaredSize(seen, ledger);
  if (declared !== ledger.declared) await patchLedger(kube, metadata, written({ declared }));
}
