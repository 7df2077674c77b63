/**
 * Replaces a node that could not be updated in place: deletes its machine, so that the machine's own pool (not the
 * NodePool) creates another. UIDs identify nodes and machines, so that newer ones of the same names are not deleted.
 */
import type { Cluster } from "../../cluster.ts";
import type { Maker, NodeUpdate } from "../../../workflows/contracts/mod.ts";
import { poll } from "../../kube/polling.ts";
import { attempting } from "../../kube/status.ts";
import { newsOfNodes } from "./news.ts";
import { readBegun, type Updating } from "./orders.ts";
import { type PoolNode, readPoolNode } from "./pool_nodes.ts";
import { isLockTarget } from "./wanted.ts";

type Replacing = Pick<Updating, "kube" | "makers">;

/**
 * Returns the machine of a node if it can be replaced. Returns null if the node or machine was deleted, or if the
 * machine's pool would not create another machine. A node that updates itself may reboot at any time and become
 * healthy, so it is not replaced. Writes nothing.
 */
export async function readMaker(
  { kube, makers }: Replacing,
  update: NodeUpdate & { bootId: string },
): Promise<Maker | null> {
  const node = isLockTarget(update.image) ? undefined : (await readBegun(kube, update))?.node;
  // The note of a node that was ordered to boot has the boot ID of the order; a newer node of this name does not have
  // it.
  if (!node || (update.bootId !== "" && node.note.bootId !== update.bootId)) return null;
  const found = await makers.find(node);
  if (!found || found.leaving) return null;
  const { pool: { cluster } } = update;
  const pool = { ...(cluster === undefined ? {} : { cluster }), ...found.pool };
  return { pool, machine: found.machine, machineUid: found.uid, nodeUid: node.uid };
}

/**
 * Deletes the machine of a drained node. Returns "Gone" if the node was deleted, and "Kept" if the node now has another
 * machine, or if the machine's pool would not replace the machine any more.
 */
export async function ensureNodeReplaced(
  { kube, makers }: Replacing,
  { machine: name, maker }: NodeUpdate & { maker: Maker },
): Promise<"Replaced" | "Gone" | "Kept"> {
  const { pool, machine, machineUid } = maker;
  const node = await readFound(kube, { name, maker });
  if (!node) return "Gone";
  if ((await makers.find(node))?.uid !== machineUid) return "Kept";
  // A machine that is already being deleted is deleted again, because a previous attempt may have left a hold on it.
  await makers.replace({ pool, machine, node: name, drain: false });
  return "Replaced";
}

/** Waits until the node with this UID is deleted; returns false if it still exists at `until` (epoch ms). */
export async function awaitNodeGone(
  kube: Cluster,
  { pool, machine: name, maker, until }: NodeUpdate & { maker: Maker; until: number },
): Promise<boolean> {
  using news = newsOfNodes(kube, pool, () => new Set([name]));
  return await poll<boolean>({
    // `poll` must not throw at `until`, because a node that still exists is a result and not an error.
    ...{ until: Number.MAX_SAFE_INTEGER, news, lookBy: () => until },
    look: () =>
      attempting(`observe the deletion of node "${name}"`, async () => {
        if (!await readFound(kube, { name, maker })) return { answer: true };
        return Date.now() >= until ? { answer: false } : { missing: "the Node still exists" };
      }),
    expired: (missing) => new Error(missing),
  });
}

async function readFound(
  kube: Cluster,
  { name, maker: { nodeUid } }: { name: string; maker: Maker },
): Promise<PoolNode | undefined> {
  const node = await readPoolNode(kube, name);
  return node?.uid === nodeUid ? node : undefined;
}
