/**
 * Uncordons the nodes of a NodePool that is being deleted, whichever pool selects them now, and removes the finalizer
 * of the NodePool.
 */
import type { Cluster } from "../../cluster.ts";
import type { PoolRef, Published } from "../../../workflows/contracts/mod.ts";
import { abreast, attempting, ifFound } from "../../kube/status.ts";
import type { Kube } from "../../kube/client.ts";
import { type NodePool, nodePools } from "../../kube/node_pools.ts";
import { patchObject } from "../../kube/resources.ts";
import { ensureNodeUncordoned } from "../../node/cordon.ts";
import { isOwnHold } from "../../node/holder.ts";
import type { BootOrder } from "../contract.ts";
import { readPoolNodes } from "./pool_nodes.ts";
import { nodePoolNameOf, readNodePool } from "./selected.ts";
import { imageOf, partsOf } from "./wanted.ts";

/** Keeps a NodePool until its nodes are uncordoned. */
export const nodePoolFinalizer = "ostler.dev/node-pool";
/** Maximum number of nodes that are uncordoned concurrently. */
const width = 20;

/** Uncordons all nodes that the pool cordoned. */
export function releaseNodes(kube: Cluster, pool: PoolRef): Promise<void> {
  return attempting(`uncordon the nodes of pool "${pool.namespace}/${pool.name}"`, async () => {
    const held = (await readPoolNodes(kube)).filter(({ cordonedBy }) => isOwnHold(pool, cordonedBy));
    await abreast(width, held, ({ name }) => ensureNodeUncordoned(kube, { pool, node: name }));
  });
}

/** Adds the finalizer to the NodePool; publishes nothing, because the nodes themselves fetch their image. */
export function ensureHeld(kube: Kube, { pool }: BootOrder): Promise<Published> {
  return attempting(`add a finalizer to NodePool "${pool.namespace}/${nodePoolNameOf(pool)}"`, async () => {
    const nodePool = await readNodePool(kube, pool);
    if (nodePool) await setFinalizers(kube, nodePool, (all) => [...new Set([...all, nodePoolFinalizer])]);
    const { digest } = partsOf(nodePool ? await imageOf(kube, nodePool) : "");
    const rendering = { configDigest: digest.slice(7), profileVersion: "", files: 0, bytes: 0 };
    return { artefacts: [], news: "None", expiresAt: "", renewAt: "", rendering };
  });
}

/** Removes the finalizer of the NodePool. */
export async function letNodePoolGo(kube: Kube, pool: PoolRef): Promise<void> {
  const nodePool = await readNodePool(kube, pool);
  if (!nodePool) return;
  await attempting(
    `remove the finalizer of NodePool "${pool.namespace}/${nodePoolNameOf(pool)}"`,
    () => setFinalizers(kube, nodePool, (all) => all.filter((each) => each !== nodePoolFinalizer)),
  );
}

async function setFinalizers(kube: Kube, { metadata }: NodePool, of: (all: string[]) => string[]): Promise<void> {
  const { namespace, name, resourceVersion, finalizers = [], deletionTimestamp } = metadata;
  const wanted = of(finalizers);
  // The API server adds no finalizer to an object that is being deleted.
  if (wanted.length === finalizers.length || (deletionTimestamp && wanted.length > finalizers.length)) return;
  const body = { metadata: { resourceVersion, finalizers: wanted } };
  await ifFound(patchObject(kube, nodePools, { namespace, name, body }));
}
