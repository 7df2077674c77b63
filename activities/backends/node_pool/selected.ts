/** Which nodes are whose: those that a pool selects, of which no other pool may select any. */
import type { Cluster } from "../../cluster.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import { refused } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import { ifFound, selects } from "../../kube/status.ts";
import { type NodePool, nodePools } from "../../kube/node_pools.ts";
import { listPage, readObject } from "../../kube/resources.ts";
import { type PoolNode, readPoolNodes } from "./pool_nodes.ts";

const word = "node-pool.";

/** The name of the NodePool of a pool. Refuses what is no name of one. */
export function nodePoolNameOf({ namespace, name }: PoolRef): string {
  if (name.startsWith(word) && name.length > word.length) return name.slice(word.length);
  throw refused(
    "ObjectInvalid",
    `Failed to serve pool "${namespace}/${name}": the pool name of a NodePool begins with "${word}"`,
  );
}

/** The NodePool of a pool; undefined when it is gone. */
export function readNodePool(kube: Kube, pool: PoolRef): Promise<NodePool | undefined> {
  return ifFound(readObject(kube, nodePools, { namespace: pool.namespace, name: nodePoolNameOf(pool) }));
}

/** A node may be of the pool; control planes are upgraded by other rules, and never here. */
export function isSelected({ spec }: Pick<NodePool, "spec">, node: PoolNode): boolean {
  return !node.isControlPlane && selects(spec.nodeSelector, node.labels);
}

/** The nodes of a pool, those of another one included. */
export async function readSelected(kube: Cluster, nodePool: Pick<NodePool, "spec">): Promise<PoolNode[]> {
  return (await readPoolNodes(kube)).filter((node) => isSelected(nodePool, node));
}

/** Two pools of one node would each keep to their own budget, and bring it to their own image: neither begins anything. */
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
      `Failed to roll out an image of driver "${spec.driver}" in NodePool "${metadata.namespace}/${metadata.name}": ` +
        `NodePool "${other}" also selects node "${shared.name}"`,
    );
  }
}

/** The pool that a node is of; undefined where none selects it, or more than one does. */
export async function poolOf(kube: Cluster, node: PoolNode): Promise<NodePool | undefined> {
  return (await readOwners(kube))(node);
}

/** The same for any number of nodes, by one look at the pools. */
export async function readOwners(kube: Cluster): Promise<(node: PoolNode) => NodePool | undefined> {
  const all = await kube.cache.read("node pools", () => listAllPools(kube));
  return (node) => {
    const owners = all.filter((each) => isSelected(each, node));
    return owners.length === 1 ? owners[0] : undefined;
  };
}

/** Far more than any cluster has. */
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

// Nodes of other pools' machines that are looked after by NodePools.

/** The first of these nodes that is not of exactly one NodePool; undefined where all are. */
export async function strayNode(kube: Cluster, names: readonly string[]): Promise<string | undefined> {
  const [all, ownerOf] = await Promise.all([readPoolNodes(kube), readOwners(kube)]);
  const nodes = new Map(all.map((node) => [node.name, node]));
  return names.find((name) => {
    const node = nodes.get(name);
    return !node || !ownerOf(node);
  });
}
