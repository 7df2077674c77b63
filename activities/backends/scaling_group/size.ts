/**
 * The declared size of a group: its size in the cloud without the machines that were ordered as replacements of
 * existing ones. During an order or removal the size in the cloud is uncertain, so the recorded number counts.
 */
import type { Instance } from "../../clouds/driver.ts";
import type { Asked, CloudSight } from "./sight.ts";
import { isAlive, isOf, type Order } from "./records.ts";
import { type Ledger, patchLedger, written } from "./ledger.ts";
import { isLost, memberIdOf } from "./member.ts";
import type { Kube } from "../../kube/client.ts";

type Seen = Pick<CloudSight, "cloud" | "instances" | "records" | "nodes" | "at" | "isMoving">;

/** Returns whether the cloud has accepted an order, according to its answer or its list of instances. */
export function isReached({ id, providerId }: Order, instances: readonly Instance[]): boolean {
  return providerId !== "" || instances.some(({ token }) => token === id);
}

/**
 * Returns the orders that have made the group larger by one machine each, and for which no removal of the new or the
 * replaced machine has made the group smaller again.
 */
export function openOrders({ instances, records: { orders, removals } }: Pick<Seen, "instances" | "records">): Order[] {
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
 * Returns open orders whose old machine was removed outside of Ostler and replaced by the group, so that one machine is
 * surplus.
 */
export function orphansOf(seen: Pick<Seen, "instances" | "records">): Order[] {
  const alive = new Set(seen.instances.filter((each) => isAlive(each)).map(memberIdOf));
  return openOrders(seen).filter(({ goal, donor = "" }) => goal === "Join" && !alive.has(donor));
}

/**
 * Returns the machine that the Constellation node operator ordered and then marked as obsolete: it is one too many. The
 * operator had at most one. Because nodes can mark themselves, a group shrinks by one machine at a time and never below
 * its minimum.
 */
export function obsoleteIn(
  { cloud, instances, records, nodes }: Pick<Seen, "cloud" | "instances" | "records" | "nodes">,
): Instance[] {
  const open = openOrders({ instances, records });
  if (cloud.size - open.length <= cloud.min) return [];
  return instances.filter((each) => {
    const node = nodes.get(each.providerId.toLowerCase());
    const isInOrder = open.some(({ id }) => id === memberIdOf(each));
    return isAlive(each) && !each.isProtected && !isInOrder && node?.isObsolete && !node.isControlPlane;
  }).slice(0, 1);
}

/** Returns the declared size of a group; the recorded one, if any, while the size in the cloud is uncertain. */
export function declaredSize(seen: Seen, { declared }: Pick<Ledger, "declared">): number {
  const reckoned = Math.max(0, seen.cloud.size - openOrders(seen).length - obsoleteIn(seen).length);
  return isUncertain(seen) ? declared ?? reckoned : reckoned;
}

/** Returns whether an order or removal may or may not have changed the size in the cloud yet. */
function isUncertain(
  { instances, records: { orders, removals }, at, isMoving }: Omit<Seen, "cloud" | "nodes">,
): boolean {
  const isThere = (providerId: string): boolean => instances.some((each) => isAlive(each) && isOf(providerId, each));
  const isOnItsWay = (order: Order): boolean =>
    !isReached(order, instances) && (order.goal === "Join" || !isLost(order, at));
  return isMoving || orders.some(isOnItsWay) ||
    removals.some(({ providerId, shrinks }) => shrinks && isThere(providerId));
}

/**
 * Records the declared size of a group before Ostler records an order or a removal that changes the group's size. While
 * the size in the cloud is uncertain, a size that is already recorded stays.
 */
export async function noteSize(kube: Kube, { asked, seen }: { asked: Asked; seen: CloudSight }): Promise<void> {
  const { group: { metadata }, ledger } = asked;
  if (isUncertain(seen) && ledger.declared !== undefined) return;
  const declared = declaredSize(seen, ledger);
  if (declared !== ledger.declared) await patchLedger(kube, metadata, written({ declared }));
}
