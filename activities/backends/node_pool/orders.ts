/** Asks a node's operating system by whoever has hands on it; each asking is one order, however often its step is tried. */
import type { Cluster } from "../../cluster.ts";
import { Context } from "@temporalio/activity";
import { createHash } from "node:crypto";
import type { NodeUpdate, OsOrder, OsOutcome } from "../../../workflows/contracts/mod.ts";
import type { NodePool } from "../../kube/node_pools.ts";
import { type PoolNode, readPoolNode } from "./pool_nodes.ts";
import { isSelected, readNodePool } from "./selected.ts";
import { partsOf } from "./wanted.ts";

/** Carries an order out on its node; answers also where the node does not. */
export type GiveOrder = (order: OsOrder) => Promise<OsOutcome>;

/** What the steps of an update need. */
export interface Updating {
  kube: Cluster;
  giveOrder: GiveOrder;
}

/** One machine that is updated, with what is known of it. */
export interface Subject {
  nodePool: NodePool;
  node: PoolNode;
}

/** The machine of an update that may begin; undefined when it is gone, or no more of its pool. */
export async function readUpdated(kube: Cluster, update: NodeUpdate): Promise<Subject | undefined> {
  const found = await readBegun(kube, update);
  return found && isSelected(found.nodePool, found.node) ? found : undefined;
}

/** The machine of an update that has begun, also where its pool selects it no more: it is seen through. */
export async function readBegun(kube: Cluster, { pool, machine }: NodeUpdate): Promise<Subject | undefined> {
  const [nodePool, node] = [await readNodePool(kube, pool), await readPoolNode(kube, machine)];
  return nodePool && node && { nodePool, node };
}

/** An order about it, until an absolute time (epoch ms). */
export function orderOf(
  { nodePool: { spec }, node }: Subject,
  { image, verb, until }: { image: string; verb: OsOrder["verb"]; until: number },
): OsOrder {
  const { repository, digest } = partsOf(image);
  const { driver } = spec;
  if (driver === "FleetLock") {
    throw new Error(`Failed to order "${verb}" on node "${node.name}": the node updates itself`);
  }
  return {
    ...{ node: node.name, uid: node.uid, driver, verb, image: repository, digest, bootId: node.bootId },
    ...{ token: tokenOf(verb), until },
  };
}

/** What an order is given at the least (ms). */
const leastMs = 120_000;

/**
 * Until when (epoch ms) an order may take. Who comes to a step after its time was kept from it, by Temporal or all workers being
 * away: that is no time of the node's, which has the whole of it again.
 */
export function timeOf(until: number, now = Date.now()): number {
  if (now < until) return until;
  const { scheduledTimestampMs: asked = until } = Context.current().info;
  return now + Math.max(leastMs, until - asked);
}

// The same for each try of a step, and another one for each step.
function tokenOf(verb: string): string {
  const { workflowExecution, activityId } = Context.current().info;
  const asked = JSON.stringify([workflowExecution?.runId, activityId, verb]);
  return createHash("sha256").update(asked).digest("hex").slice(0, 20);
}
