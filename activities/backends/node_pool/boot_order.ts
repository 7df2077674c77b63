/** Has a node boot what it has staged. */
import type { BootOrdered, NodeUpdate } from "../../../workflows/contracts/mod.ts";
import { grantLock } from "./lock_steps.ts";
import { patchNote } from "./note.ts";
import { orderOf, readBegun, timeOf, type Updating } from "./orders.ts";
import { isLockTarget, partsOf } from "./target.ts";

/**
 * Orders it once: that it is told to boot is noted first, so that one with another boot id is known to have been told, or to
 * have booted by itself. One that does not answer may have done it: it is told as ordered, and its boot id decides.
 */
export async function awaitBootOrdered(
  { kube, giveOrder }: Updating,
  update: NodeUpdate & { until: number },
): Promise<BootOrdered> {
  const subject = await readBegun(kube, update);
  if (!subject) return { outcome: "Gone" };
  if (isLockTarget(update.image)) return await grantLock(kube, subject.node);
  const { image } = update;
  const { note, bootId } = subject.node;
  if (note.bootId !== bootId) {
    return note.ordered !== "" && note.ordered === note.bootId
      ? { outcome: "Ordered", bootId: note.bootId }
      : { outcome: "Rebooted" };
  }
  if (note.staged !== partsOf(image).digest) {
    const message = `The node has staged "${note.staged}" instead of the image to boot`;
    return { outcome: "Refused", reason: "NotStaged", message };
  }
  await patchNote(kube, subject.node, (now) => ({ ...now, ordered: bootId }));
  const verb = note.by === "Fallback" ? "GoBack" : "Apply";
  const told = await giveOrder(orderOf(subject, { image, verb, until: timeOf(update.until) }));
  return told.outcome === "Refused" ? told : { outcome: "Ordered", bootId };
}
