/**
 * How many machines a group is to keep. Its size is that and one for each newcomer that was ordered for a machine which is
 * still there. While an order or a removal is under way nobody can tell whether the size has moved: until that is known the
 * number holds that was written down before.
 */
import type { Instance } from "../../clouds/driver.ts";
import type { Asked, CloudSight } from "./sight.ts";
import { isAlive, isOf, type Order } from "./records.ts";
import { type Ledger, patchLedger, written } from "./ledger.ts";
import { isLost, memberIdOf } from "./member.ts";
import type { Kube } from "../../kube/client.ts";

type Seen = Pick<CloudSight, "cloud" | "instances" | "records" | "at" | "isMoving">;

/** The cloud has taken it, as is known from its answer or from what it shows. */
export function isReached({ id, providerId }: Order, instances: readonly Instance[]): boolean {
  return providerId !== "" || instances.some(({ token }) => token === id);
}

/** Orders by which the group keeps one more, and neither the newcomer's place nor that of the one it came for was taken back. */
export function openOrders({ instances, records: { orders, removals } }: Pick<Seen, "instances" | "records">): Order[] {
  const gone = new Set(removals.filter(({ shrinks }) => shrinks).map(({ member }) => member));
  const alive = new Set(instances.filter((each) => isAlive(each)).map(memberIdOf));
  return orders.filter((order) => {
    const { id, donor, goal, isSettled } = order;
    if (donor === undefined || isSettled || gone.has(id) || !isReached(order, instances)) return false;
    // One that was given up came after all: whoever it was for has another by now, or stays.
    return goal === "Leave" ? alive.has(id) : alive.has(donor) || !gone.has(donor);
  });
}

/** Those whose other was taken away by somebody: the group made up for that one, so another goes in its stead. */
export function orphansOf(seen: Pick<Seen, "instances" | "records">): Order[] {
  const alive = new Set(seen.instances.filter((each) => isAlive(each)).map(memberIdOf));
  return openOrders(seen).filter(({ goal, donor = "" }) => goal === "Join" && !alive.has(donor));
}

/** Machines that are wanted. */
export function declaredSize(seen: Seen, { declared }: Pick<Ledger, "declared">): number {
  const reckoned = Math.max(0, seen.cloud.size - openOrders(seen).length);
  return isUncertain(seen) ? declared ?? reckoned : reckoned;
}

/** An order may be with the cloud, or a removal: its size may have moved already, or not. */
export function isUncertain({ instances, records: { orders, removals }, at, isMoving }: Omit<Seen, "cloud">): boolean {
  const isThere = (providerId: string): boolean => instances.some((each) => isAlive(each) && isOf(providerId, each));
  const isOnItsWay = (order: Order): boolean =>
    !isReached(order, instances) && (order.goal === "Join" || !isLost(order, at));
  return isMoving || orders.some(isOnItsWay) ||
    removals.some(({ providerId, shrinks }) => shrinks && isThere(providerId));
}

/**
 * Records the declared size of a group before a record is written for which Ostler changes the group's size. While the
 * size is uncertain the previous record stays.
 */
export async function noteSize(kube: Kube, { asked, seen }: { asked: Asked; seen: CloudSight }): Promise<void> {
  const { group: { metadata }, ledger } = asked;
  if (isUncertain(seen) && ledger.declared !== undefined) return;
  const declared = declaredSize(seen, ledger);
  if (declared !== ledger.declared) await patchLedger(kube, metadata, written({ declared }));
}
