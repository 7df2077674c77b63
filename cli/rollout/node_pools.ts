/** NodePools among other pools: each as an object of the form that a pool's row is read from. */
import { z } from "zod";
import type { Kube } from "../../activities/kube/client.ts";
import { NodePool, nodePools } from "../../activities/kube/node_pools.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { nodePoolOf, poolOfNodePool } from "../../workflows/commands/start_options.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { ifAllowed, listAll } from "../connect/cluster.ts";

const { group, version, plural } = nodePools;

/** The pool as an object; undefined where there is none, or where the pool is none. */
export async function readNodePoolObject(kube: Kube, pool: PoolRef): Promise<unknown> {
  const name = nodePoolOf(pool);
  if (name === undefined) return undefined;
  const { namespace } = pool;
  return asPool(await ifFound(kube.custom.getNamespacedCustomObject({ group, version, plural, namespace, name })));
}

/** All of them; none where there is no such kind, or nobody may look. */
export async function listNodePools(
  kube: Kube,
  where: { namespace?: string; labelSelector?: string },
): Promise<unknown[]> {
  const found = await ifAllowed(ifFound(listAll(kube, nodePools, where)));
  return (found ?? []).map(asPool).filter((each) => each !== undefined);
}

/** Its Rollout has the number of its nodes; the object has none. */
function asPool(object: unknown): unknown {
  // A broken pool must not hide the others.
  const { data } = z.object({ metadata: NodePool.shape.metadata }).safeParse(object);
  if (!data) return undefined;
  const { metadata } = data;
  const { name } = poolOfNodePool(metadata.namespace, metadata.name);
  return { metadata: { ...metadata, name }, spec: { replicas: 0 } };
}
