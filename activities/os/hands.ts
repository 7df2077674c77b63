/** Runs an OS operation on a node through a hand: a pod on that node. */
import type { OsOrder, OsOutcome } from "../../workflows/contracts/mod.ts";
import { byHand, type HandDeps, type HandOrder } from "./hand.ts";
import { osCommandOf } from "./hand_pod.ts";
import { booting, osReading } from "./hand_state.ts";
import { handsImagePattern, withoutHandsImage } from "./hands_image.ts";
import { judgedOrder } from "./order.ts";

/**
 * Gives the order, and waits for its result until its deadline, like `byHand`. Returns Refused (DriverMissing) if the
 * setting hands-image is not an image with a digest; throws Refused (ObjectInvalid) for an invalid order.
 */
export async function givenOrder({ kube, image }: HandDeps, asked: OsOrder): Promise<OsOutcome> {
  const order = judgedOrder(asked);
  if (!handsImagePattern.test(image)) {
    const message = `Failed to order an OS operation on node "${order.node}": ${withoutHandsImage}`;
    return { outcome: "Refused", reason: "DriverMissing", message };
  }
  return await byHand({ kube, image }, osHandOf(order));
}

/** Returns the pod that executes the order, and how its result is read. */
export function osHandOf(order: OsOrder): HandOrder<OsOutcome> {
  const { verb } = order;
  return {
    ...osCommandOf(order),
    ...osReading(verb),
    ...{ kind: "OS operation", verb },
    // A lost pod may have started the boot, so only a caller that has read the node's boot id may repeat the order.
    isRepeatable: !booting(verb),
    unknown: (message) => ({ outcome: "Unknown", message }),
  };
}
