/** Reports changes of NodePools and their nodes to waiting activities. */
import type { Cluster } from "../../cluster.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import { News, sourceOf } from "../../kube/polling.ts";
import { NodePool, nodePools } from "../../kube/node_pools.ts";
import type { Resource } from "../../kube/resources.ts";
import type { Change } from "../../kube/informer.ts";
import { type PoolNode, poolNodesOf } from "./pool_nodes.ts";
import { nodePoolNameOf } from "./selected.ts";
import { observedOf } from "./wanted.ts";

const identities: Resource<string> = { ...nodePools, schema: NodePool.transform((pool) => observedOf(pool)) };

/** Reports to a waiting activity: changes of the desired state. */
export function newsOfWanted(kube: Cluster, pool: PoolRef): News {
  return new News([sourceOf(kube.watches.of(identities), ({ key }) => key === keyOf(pool))]);
}

/**
 * Reports to a waiting activity: changes of the NodePool and its nodes. A new, deleted or relabelled node may belong to
 * any pool, so its change is always reported; any other change of a node is reported only if `nodes()` names the node.
 */
export function newsOfNodes(kube: Cluster, pool: PoolRef, nodes: () => ReadonlySet<string>): News {
  return new News([
    sourceOf(kube.watches.of(identities), ({ key }) => key === keyOf(pool)),
    sourceOf(poolNodesOf(kube), (change) => concerns(change, nodes())),
    sourceOf(kube.nodes, ({ key }) => nodes().has(key)),
  ]);
}

function concerns({ key, before, now }: Change<PoolNode>, nodes: ReadonlySet<string>): boolean {
  if (before === undefined || now === undefined) return true;
  const { labels: was, ...facts } = before;
  const { labels: is, ...rest } = now;
  if (JSON.stringify(was) !== JSON.stringify(is)) return true;
  return nodes.has(key) && JSON.stringify(facts) !== JSON.stringify(rest);
}

function keyOf(pool: PoolRef): string {
  return `${pool.namespace}/${nodePoolNameOf(pool)}`;
}
