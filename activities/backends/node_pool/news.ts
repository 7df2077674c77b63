/** News of NodePools and of their nodes. */
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { News, sourceOf } from "../../kube/polling.ts";
import { NodePool, nodePools } from "../../kube/node_pools.ts";
import type { Resource } from "../../kube/resources.ts";
import { type Change, SharedWatch } from "../../kube/informer.ts";
import { nodeWatchOf } from "../../node/node_watch.ts";
import { type PoolNode, poolNodesOf } from "./pool_nodes.ts";
import { nodePoolNameOf } from "./selected.ts";
import { observedOf } from "./target.ts";

const identities: Resource<string> = { ...nodePools, schema: NodePool.transform((pool) => observedOf(pool)) };

const watches = new WeakMap<object, SharedWatch<string>>();

function poolsOf(kube: Kube): SharedWatch<string> {
  const known = watches.get(kube.core) ?? new SharedWatch(kube, identities);
  watches.set(kube.core, known);
  return known;
}

/** What a pool asks for. */
export function newsOfWanted(kube: Kube, pool: PoolRef): News {
  return new News([sourceOf(poolsOf(kube), ({ key }) => key === keyOf(pool))]);
}

/** The same, with its nodes: any that comes may be of it, and of those that are the note, the boot and the cordon count. */
export function newsOfNodes(kube: Kube, pool: PoolRef, nodes: () => ReadonlySet<string>): News {
  return new News([
    sourceOf(poolsOf(kube), ({ key }) => key === keyOf(pool)),
    sourceOf(poolNodesOf(kube), (change) => concerns(change, nodes())),
    sourceOf(nodeWatchOf(kube), ({ key }) => nodes().has(key)),
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
