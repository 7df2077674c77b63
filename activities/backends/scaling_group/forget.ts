/** Forgets a machine that is gone: its node, and what was written down about it. */
import type { Instance } from "../../clouds/driver.ts";
import type { Kube } from "../../kube/client.ts";
import { patchClusterObject } from "../../kube/cluster_objects.ts";
import { ifFound, statusOf } from "../../kube/status.ts";
import { pendingNodes } from "../../kube/update_kinds.ts";
import { isLost, memberIdOf } from "./member.ts";
import { deleteRecord, isAlive, type Order, orderOf, recordAnnotations, type Removal } from "./records.ts";
import { openOrders } from "./size.ts";
import type { CloudSight } from "./sight.ts";

/** Its node, where it is still the one of that instance; orders that were for it, or by which it came; its own record last. */
export async function forget(
  kube: Kube,
  seen: CloudSight,
  { machine, removal }: { machine: string; removal: Removal | undefined },
): Promise<void> {
  await deleteNode(kube, seen, removal?.providerId ?? "");
  const open = openOrders(seen);
  for (const order of seen.records.orders) {
    const isOwn = order.id === machine;
    if (isOwn && !removal?.shrinks && (open.includes(order) || isDonorThere(seen, order))) {
      await noteVanished(kube, order);
    } else if (isOwn || (order.donor === machine && (order.isDone || isUnseen(seen, order)))) {
      await deleteRecord(kube, order.record);
    } else if (order.donor === machine && removal?.shrinks) await settle(kube, order);
  }
  if (removal) await deleteRecord(kube, removal.record);
}

/** The one that it came for is gone before it was in: its place is its own. It may have got in this moment. */
async function settle(kube: Kube, { id, uid }: Order): Promise<void> {
  const annotations = { [recordAnnotations.settled]: "true" };
  const record = await ifFound(
    patchClusterObject(kube, pendingNodes, { name: id, body: { metadata: { uid, annotations } } }),
  );
  if (record && orderOf(record).isDone) await deleteRecord(kube, record);
}

function isDonorThere({ instances }: CloudSight, { donor }: Order): boolean {
  return instances.some((each) => isAlive(each) && memberIdOf(each) === donor);
}

/** The group is one larger for its sake all the same, until its donor has gone. */
async function noteVanished(kube: Kube, { id, uid }: Order): Promise<void> {
  const annotations = { [recordAnnotations.vanished]: "true" };
  await ifFound(patchClusterObject(kube, pendingNodes, { name: id, body: { metadata: { uid, annotations } } }));
}

function isUnseen({ instances, at }: CloudSight, order: Order): boolean {
  return isLost(order, at) && !instances.some((each: Instance) => each.token === order.id);
}

async function deleteNode(kube: Kube, { nodes }: CloudSight, providerId: string): Promise<void> {
  const node = nodes.get(providerId.toLowerCase());
  if (!node || providerId === "") return;
  try {
    await ifFound(kube.core.deleteNode({ name: node.name, body: { preconditions: { uid: node.uid } } }));
  } catch (error) {
    if (statusOf(error) !== 409) throw error; // another one of its name
  }
}
