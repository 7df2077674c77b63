/**
 * Creates orders for a node's operating system; a pod on the node runs them. Every attempt of an activity creates the
 * same order.
 */
import type { Cluster } from "../../cluster.ts";
import { Context } from "@temporalio/activity";
import { createHash } from "node:crypto";
import type { NodeUpdate, OsOrder } from "../../../workflows/contracts/mod.ts";
import type { NodePool } from "../../kube/node_pools.ts";
import type { GiveOrder, Makers } from "../contract.ts";
import { type PoolNode, readPoolNode } from "./pool_nodes.ts";
import { isSelected, readNodePool } from "./selected.ts";
import { isLockTarget, partsOf } from "./wanted.ts";

/** Dependencies of the activities that update a node in place. */
export interface Updating {
  kube: Cluster;
  giveOrder: GiveOrder;
  makers: Makers;
}

/** A node that is updated, and its NodePool. */
export interface Subject {
  nodePool: NodePool;
  node: PoolNode;
}

/**
 * Reads the node and the NodePool of an update that may begin; undefined if one of them was deleted, or if the NodePool
 * does not select the node any more.
 */
export async function readUpdated(kube: Cluster, update: NodeUpdate): Promise<Subject | undefined> {
  const found = await readBegun(kube, update);
  return found && isSelected(found.nodePool, found.node) ? found : undefined;
}

/**
 * Reads the node and the NodePool of an update that has begun, and that is completed even if the NodePool does not
 * select the node any more; undefined if one of them was deleted.
 */
export async function readBegun(kube: Cluster, { pool, machine }: NodeUpdate): Promise<Subject | undefined> {
  const [nodePool, node] = [await readNodePool(kube, pool), await readPoolNode(kube, machine)];
  return nodePool && node && { nodePool, node };
}

/**
 * Returns whether a node that was to get an image updates itself by now, because the driver of its NodePool was changed
 * to FleetLock. Such a node gets no order.
 */
export function isSelfUpdating({ nodePool: { spec: { driver } } }: Subject, image: string): boolean {
  return driver === "FleetLock" && !isLockTarget(image);
}

/** Returns an order for the node, valid until an absolute time (epoch ms). */
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

/** Milliseconds that an order gets at least. */
const leastMs = 120_000;

/**
 * Returns the deadline of an order (epoch ms). It is `until`, unless the activity attempt starts later than that,
 * because of an outage of Temporal or of all workers. Then the node gets the whole time from the scheduling of the
 * activity to `until` once more, counted from `now`, and at least 2 min.
 */
export function timeOf(until: number, now = Date.now()): number {
  if (now < until) return until;
  const { scheduledTimestampMs: asked = until } = Context.current().info;
  return now + Math.max(leastMs, until - asked);
}

// Returns a token that is the same for all attempts of an activity, and different for every activity.
function tokenOf(verb: string): string {
  const { workflowExecution, activityId } = Context.current().info;
  const asked = JSON.stringify([workflowExecution?.runId, activityId, verb]);
  return createHash("sha256").update(asked).digest("hex").slice(0, 20);
}
