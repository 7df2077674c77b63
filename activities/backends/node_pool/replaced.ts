/**
 * Replaces a node that could not be updated where it stands, by deleting its machine: whoever made that makes another. All is
 * known by its uid, so that neither a node nor a machine is meant that came later under the same name.
 */
import type { Cluster } from "../../cluster.ts";
import type { Maker, NodeUpdate } from "../../../workflows/contracts/mod.ts";
import { poll } from "../../kube/polling.ts";
import { attempting } from "../../kube/status.ts";
import { backendOf, remadeOf } from "../registry.ts";
import { newsOfNodes } from "./news.ts";
import { readBegun } from "./orders.ts";
import { type PoolNode, readPoolNode } from "./pool_nodes.ts";
import { isLockTarget } from "./wanted.ts";

/** Null for nobody; and for a node that updates itself, as it may reboot at any time and be well. Writes nothing. */
export async function readMaker(kube: Cluster, update: NodeUpdate & { bootId: string }): Promise<Maker | null> {
  const node = isLockTarget(update.image) ? undefined : (await readBegun(kube, update))?.node;
  // What was ordered to boot has noted under which boot; another one of that name knows nothing of it.
  if (!node || (update.bootId !== "" && node.note.bootId !== update.bootId)) return null;
  const found = await remadeOf(kube, node);
  if (!found || found.leaving) return null;
  const { pool: { cluster } } = update;
  const pool = { ...(cluster === undefined ? {} : { cluster }), ...found.pool };
  return { pool, machine: found.machine, machineUid: found.uid, nodeUid: node.uid };
}

/**
 * Deletes the machine, without a second drain. While the node is there, it is asked anew who makes it: a machine that is of
 * another node by now, or that nobody would replace any more, stays.
 */
export async function ensureNodeReplaced(
  kube: Cluster,
  { machine: name, maker }: NodeUpdate & { maker: Maker },
): Promise<"Replaced" | "Gone" | "Kept"> {
  const { pool, machine, machineUid } = maker;
  const node = await readFound(kube, { name, maker });
  if (!node) return "Gone";
  if ((await remadeOf(kube, node))?.uid !== machineUid) return "Kept";
  // Also where it leaves already: a try before this one may have held it for that.
  await backendOf(kube, pool).replace({ pool, machine, node: name, drain: false });
  return "Replaced";
}

/** By its uid: one that came in its stead under the same name is another one. */
export async function awaitNodeGone(
  kube: Cluster,
  { pool, machine: name, maker, until }: NodeUpdate & { maker: Maker; until: number },
): Promise<boolean> {
  using news = newsOfNodes(kube, pool, () => new Set([name]));
  return await poll<boolean>({
    ...{ until: Number.MAX_SAFE_INTEGER, news, lookBy: () => until }, // that it is there still is an answer too
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
