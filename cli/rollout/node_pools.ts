/** Reads NodePools, in the shape of a MachineDeployment from which `poolRow` makes a row. */
import { z } from "zod";
import type { Kube } from "../../activities/kube/client.ts";
import { NodePool, nodePools } from "../../activities/kube/node_pools.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { nodePoolOf, poolOfNodePool } from "../../workflows/commands/start_options.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { ifAllowed, listAll } from "../connect/cluster.ts";

const { group, version, plural } = nodePools;

/**
 * Returns the NodePool of a pool, in the shape of a MachineDeployment; undefined if the NodePool does not exist, or the
 * pool is of another kind.
 */
export async function readNodePoolObject(kube: Kube, pool: PoolRef): Promise<unknown> {
  const name = nodePoolOf(pool);
  if (name === undefined) return undefined;
  const { namespace } = pool;
  return asPool(await ifFound(kube.custom.getNamespacedCustomObject({ group, version, plural, namespace, name })));
}

/**
 * Returns all NodePools, in the shape of MachineDeployments; none if their CRD is not installed, and undefined if the
 * user is not allowed to list them.
 */
export async function listNodePools(
  kube: Kube,
  where: { namespace?: string; labelSelector?: string },
): Promise<unknown[] | undefined> {
  const found = await ifAllowed(ifFound(listAll(kube, nodePools, where)).then((items = []) => items));
  return found?.map(asPool).filter((each) => each !== undefined);
}

/**
 * Returns a NodePool in the shape of a MachineDeployment, with 0 replicas, because only its Rollout has the number of
 * nodes.
 */
function asPool(object: unknown): unknown {
  // An invalid NodePool must not hide the others.
  const { data } = z.object({ metadata: NodePool.shape.metadata }).safeParse(object);
  if (!data) return undefined;
  const { metadata } = data;
  const { name } = poolOfNodePool(metadata.namespace, metadata.name);
  return { metadata: { ...metadata, name }, spec: { replicas: 0 } };
}
