/**
 * Watches nodes for what a NodePool has to look at: one that came or went, turned, or booted without our doing. A digest of
 * that is made whenever a pool is looked at, by a pass over all nodes; a heartbeat has no pool looked at.
 */
import { createHash } from "node:crypto";
import { isSelected } from "../activities/backends/node_pool/selected.ts";
import { type PoolNode, poolNode } from "../activities/backends/node_pool/pool_nodes.ts";
import { Informer } from "../activities/kube/informer.ts";
import type { InformerDeps } from "../activities/kube/informer.ts";
import type { NodePool } from "../activities/kube/node_pools.ts";
import type { Resource } from "../activities/kube/resources.ts";

type Selecting = Pick<NodePool, "spec">;

interface Deps extends Pick<InformerDeps<never>, "kube" | "log" | "signal"> {
  selecting: () => Iterable<[key: string, pool: Selecting]>;
  onChange: (key: string) => void;
}

export interface PoolNodeWatch {
  /** Changes when a pool has to be looked at; "" of one whose nodes are all as a rollout left them. */
  stateOf(key: string): string;
  start(): Promise<void>;
}

const nodes: Resource<PoolNode> = { group: "", version: "v1", plural: "nodes", schema: poolNode };

/** Tells of the keys of pools that select a node which has changed in a way that matters. */
export function watchPoolNodes({ selecting, onChange, ...deps }: Deps): PoolNodeWatch {
  const owners = (node: PoolNode | undefined): string[] =>
    node ? [...selecting()].filter(([, pool]) => isSelected(pool, node)).map(([key]) => key) : [];
  const informer: Informer<PoolNode> = new Informer(nodes, {
    ...deps,
    onChange: (name, before) => {
      const now = informer.get(name);
      if (before && now && sameTrouble(before, now) && sameLabels(before, now)) return;
      new Set([...owners(before), ...owners(now)]).forEach(onChange);
    },
  });
  const stateOf = (key: string): string => {
    const pool = [...selecting()].find(([each]) => each === key)?.[1];
    if (!pool) return "";
    const odd = [...informer.values()].filter((node) => isSelected(pool, node))
      .map(pool.spec.driver === "FleetLock" ? lockTroubleOf : troubleOf).filter((each) => each !== "");
    return odd.length === 0 ? "" : createHash("sha256").update(odd.sort().join("\n")).digest("hex").slice(0, 16);
  };
  return { stateOf, start: () => informer.start() };
}

function sameLabels(one: PoolNode, other: PoolNode): boolean {
  return JSON.stringify(one.labels) === JSON.stringify(other.labels);
}

/** It is down, or runs what nobody has asked it about; "" for neither. */
function troubleOf({ name, bootId, isReady, note }: PoolNode): string {
  if (!isReady) return `${name} NotReady`;
  return note.bootId === bootId ? "" : `${name} ${bootId}`;
}

function sameTrouble(one: PoolNode, other: PoolNode): boolean {
  return troubleOf(one) === troubleOf(other) && lockTroubleOf(one) === lockTroubleOf(other);
}

/** It is down, or asks for a lock; what a node that updates itself runs, nobody asks. */
function lockTroubleOf({ name, isReady, lock }: PoolNode): string {
  if (lock) return `${name} asks since ${lock.asked}`;
  return isReady ? "" : `${name} NotReady`;
}
