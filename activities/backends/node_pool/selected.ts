/**
 * Finds the nodes of NodePools: a node belongs to the NodePool that selects it, if no other NodePool selects it too.
 */
import type { Cluster } from "../../cluster.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import { refused } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import { ifFound, selects } from "../../kube/status.ts";
import { type NodePool, nodePools } from "../../kube/node_pools.ts";
import { listPage, readObject } from "../../kube/resources.ts";
import { type PoolNode, readPoolNodes } from "./pool_nodes.ts";

/** Prefix of the pool's name, because a MachineDeployment of the namespace can have the same name as the NodePool. */
export const poolPrefix = "node-pool.";

/** Returns the pool of a NodePool, as `workflows/commands/node_pool.ts` does. */
export function poolOfNodePool({ namespace, name }: { namespace: string; name: string }): PoolRef {
  return { kind: "NodePool", namespace, name: `${poolPrefix}${name}` };
}

/** Returns the name of a pool's NodePool. Throws Refused for a name without the prefix. */
export function nodePoolNameOf({ namespace, name }: PoolRef): string {
  if (name.startsWith(poolPrefix) && name.length > poolPrefix.length) return name.slice(poolPrefix.length);
  throw refused(
    "ObjectInvalid",
    `Failed to serve pool "${namespace}/${name}": the name of the pool of a NodePool must begin with "${poolPrefix}"`,
  );
}

/** Reads the NodePool of a pool; undefined if it was deleted. */
export function readNodePool(kube: Kube, pool: PoolRef): Promise<NodePool | undefined> {
  return ifFound(readObject(kube, nodePools, { namespace: pool.namespace, name: nodePoolNameOf(pool) }));
}

/** Returns whether a NodePool selects a node; never a control plane, which is upgraded by other rules. */
export function isSelected({ spec }: Pick<NodePool, "spec">, node: PoolNode): boolean {
  return !node.isControlPlane && selects(spec.nodeSelector, node.labels);
}

/** Reads the nodes that a NodePool selects, including those that another one selects too. */
export async function readSelected(kube: Cluster, nodePool: Pick<NodePool, "spec">): Promise<PoolNode[]> {
  return (await readPoolNodes(kube)).filter((node) => isSelected(nodePool, node));
}

/** Throws Refused if another NodePool selects one of the nodes, because each would apply its own budget and image. */
export async function refuseRivals(
  kube: Cluster,
  { metadata, spec }: NodePool,
  nodes: readonly PoolNode[],
): Promise<void> {
  const all = await kube.cache.read("node pools", () => listAllPools(kube));
  for (const rival of all.filter((other) => other.metadata.uid !== metadata.uid)) {
    const shared = nodes.find((node) => isSelected(rival, node));
    if (!shared) continue;
    const other = `${rival.metadata.namespace}/${rival.metadata.name}`;
    throw refused(
      "NodeClaimedTwice",
      `Failed to roll out NodePool "${metadata.namespace}/${metadata.name}" (driver "${spec.driver}"): ` +
        `NodePool "${other}" also selects node "${shared.name}"; change the nodeSelector of one of them`,
    );
  }
}

/** Returns the only NodePool that selects a node; undefined if none or several select it. */
export async function poolOf(kube: Cluster, node: PoolNode): Promise<NodePool | undefined> {
  return (await readOwners(kube))(node);
}

/** Reads the NodePools once, and returns a function that finds the only NodePool that selects a node. */
async function readOwners(kube: Cluster): Promise<(node: PoolNode) => NodePool | undefined> {
  const all = await kube.cache.read("node pools", () => listAllPools(kube));
  return (node) => {
    const owners = all.filter((each) => isSelected(each, node));
    return owners.length === 1 ? owners[0] : undefined;
  };
}

/** Maximum number of pages, of 500 NodePools each: far more than any cluster has. */
const pagesAtMost = 20;

async function listAllPools(kube: Kube): Promise<NodePool[]> {
  const found: NodePool[] = [];
  for (let [page, after] = [0, undefined as string | undefined]; page < pagesAtMost; page++) {
    const { items, next } = await listPage(kube, nodePools, { limit: 500, after });
    found.push(...items);
    if (next === undefined) break;
    after = next;
  }
  return found;
}

/**
 * Returns the first of these nodes that does not exist, or is selected by no NodePool or by several; undefined if
 * exactly one selects each.
 */
export async function strayNode(kube: Cluster, names: readonly string[]): Promise<string | undefined> {
  const [all, ownerOf] = await Promise.all([readPoolNodes(kube), readOwners(kube)]);
  const nodes = new Map(all.map((node) => [node.name, node]));
  return names.find((name) => {
    const node = nodes.get(name);
    return !node || !ownerOf(node);
  });
}
