/**
 * How many machines a group is to keep. Its size is that and one for each newcomer that was ordered for a machine which is
 * still there. While an order or a removal is under way nobody can tell whether the size has moved: until that is known the
 * number holds that was written down before.
 */
import type { Instance } from "../../clouds/driver.ts";
import type { CloudSight } from "./sight.ts";
import { isAlive, isOf, type Order } from "./records.ts";
import type { Ledger } from "./ledger.ts";
import { memberIdOf } from "./member.ts";

type Seen = Pick<CloudSight, "cloud" | "instances" | "records" | "isMoving">;

/** Orders whose newcomer is above the number: the one that goes for it is still there, and its place was not taken back. */
export function openOrders({ instances, records }: Pick<Seen, "instances" | "records">): Order[] {
  const alive = new Set(instances.filter((each) => isAlive(each)).map(memberIdOf));
  const takenBack = new Set(records.removals.filter(({ shrinks }) => shrinks).map(({ member }) => member));
  return records.orders.filter(({ id, donor, goal }) =>
    goal === "Join" && donor !== undefined && alive.has(donor) && !takenBack.has(id)
  );
}

/** Machines that are wanted. */
export function declaredSize(seen: Seen, { declared }: Pick<Ledger, "declared">): number {
  const open = openOrders(seen);
  const reckoned = Math.max(0, seen.cloud.size - open.filter(({ providerId }) => providerId !== "").length);
  return isUncertain(seen) ? declared ?? reckoned : reckoned;
}

/** An order may be with the cloud, or a removal: its size may have moved already, or not. */
export function isUncertain({ instances, records: { orders, removals }, isMoving }: Omit<Seen, "cloud">): boolean {
  const isThere = (providerId: string): Instance | undefined =>
    instances.find((each) => isAlive(each) && isOf(providerId, each));
  const isOrdering = orders.some(({ goal, providerId }) => goal === "Join" && providerId === "");
  const isLeaving = orders.some(({ goal, providerId }) => goal === "Leave" && isThere(providerId));
  return isMoving || isOrdering || isLeaving ||
    removals.some(({ providerId, shrinks }) => shrinks && isThere(providerId));
}
