/**
 * Selects the backend of a pool by the pool's kind; the only module outside of the folders of the backends that imports
 * from them.
 */
import type { NodeUpdateActivities, PoolKind, PoolRef } from "../../workflows/contracts/mod.ts";
import type { Cluster } from "../cluster.ts";
import { refused } from "../failures.ts";
import type {
  AllPools,
  Backend,
  GiveOrder,
  Makers,
  MemberRef,
  Orders,
  PoolFacts,
  PoolSource,
  WatchDeps,
} from "./contract.ts";
import { setTimeout } from "node:timers/promises";
import { findRemade } from "./machine_controller/machine_of_node.ts";
import { machineController } from "./machine_controller/mod.ts";
import { nodePool } from "./node_pool/mod.ts";
import { nodeUpdateSteps } from "./node_pool/update_steps.ts";
import { scalingGroup } from "./scaling_group/mod.ts";

const backends: Record<PoolKind, (kube: Cluster) => Backend> = {
  MachineDeployment: machineController,
  ScalingGroup: scalingGroup,
  NodePool: nodePool,
};

/**
 * Returns the backend of a pool. Throws Refused for an unknown kind, because a newer Ostler may have started the run.
 */
export function backendOf(kube: Cluster, { kind = "MachineDeployment", namespace, name }: PoolRef): Backend {
  const found = Object.hasOwn(backends, kind) ? backends[kind] : undefined;
  if (found) return found(kube);
  throw refused(
    "ObjectInvalid",
    `Failed to serve pool "${namespace}/${name}": no backend supports kind "${kind}"; upgrade Ostler`,
  );
}

/** Returns the methods that replace machines of a pool. Throws Refused for a pool whose nodes no controller creates. */
export function ordersOf(kube: Cluster, { pool, machine }: MemberRef): Orders {
  const { orders } = backendOf(kube, pool);
  if (orders) return orders;
  // The rollout planner needs these methods only for pools whose nodes a controller creates, so only an internal error
  // or a forged workflow leads here.
  throw refused(
    "ObjectInvalid",
    `Failed to replace node "${machine}" of "${pool.namespace}/${pool.name}": no controller creates this pool's nodes`,
  );
}

/**
 * Begins to watch templates, so that the first change of a pool after an idle period needs no more requests than later
 * changes.
 */
export function beginToWatch(kube: Cluster): void {
  for (const backend of Object.values(backends)) backend(kube).templates?.begin();
}

/** Milliseconds that the other backends get to list their pools after the first one has listed its own. */
const othersMs = 15_000;

/**
 * Watches the pools of all backends. `start` waits until one backend has listed its pools, and then at most
 * `othersWithin` ms for the others. A backend that is later reports its pools once it has listed them, so that a
 * missing CRD or permission affects the pools of one kind alone.
 */
export function watchAll(
  kube: Cluster,
  { othersWithin = othersMs, ...deps }: WatchDeps & { othersWithin?: number },
): AllPools {
  const sources = new Map(Object.entries(backends).map(([kind, backend]) => [kind, backend(kube).watchAll(deps)]));
  const complete = new Map<string, PoolSource>();
  const begin = async (kind: string, source: PoolSource): Promise<void> => {
    await source.start();
    complete.set(kind, source);
    source.keys().forEach(deps.onChange);
  };
  return {
    keys: () => [...complete.values()].flatMap((each) => each.keys()),
    find: (key) => firstIn(complete, key),
    missing: () => [...sources.keys()].filter((kind) => !complete.has(kind)) as PoolKind[],
    start: async () => {
      const begun = [...sources].map(([kind, source]) => begin(kind, source));
      await Promise.any(begun);
      const late = new AbortController();
      const waited = setTimeout(othersWithin, undefined, { signal: late.signal }).catch(() => undefined);
      await Promise.race([Promise.all(begun), waited]).finally(() => late.abort());
    },
  };
}

/**
 * MachineDeployments are asked last: a user can give one the name of the Rollout of another pool, which must not hide
 * that pool.
 */
const inOrder: readonly PoolKind[] = ["ScalingGroup", "NodePool", "MachineDeployment"];

function firstIn(sources: ReadonlyMap<string, PoolSource>, key: string): PoolFacts | undefined {
  for (const kind of inOrder) {
    const found = sources.get(kind)?.find(key);
    if (found) return found;
  }
  return undefined;
}

/** Finds and replaces the machines of nodes, whichever backend made them. */
export function makersOf(kube: Cluster): Makers {
  return {
    find: (node) => findRemade(kube, node),
    replace: (member) => ordersOf(kube, member).replace(member),
  };
}

/** Creates the activities that update nodes in place. */
export function updateSteps(kube: Cluster, giveOrder: GiveOrder): NodeUpdateActivities {
  return nodeUpdateSteps({ kube, giveOrder, makers: makersOf(kube) });
}

// Functions that only one backend has, for callers without a pool.
export { readNewcomers } from "./machine_controller/machine_of_node.ts";
export { rebootLocks } from "./node_pool/fleet_lock.ts";
export type { Note } from "./node_pool/note.ts";
export { type PoolNode, readPoolNode } from "./node_pool/pool_nodes.ts";
export { isSelected, strayNode } from "./node_pool/selected.ts";
export { awaitNodeVersionChanged } from "./scaling_group/await_change.ts";
export { holdRebalancing, letRebalancingGo } from "./scaling_group/rebalancing.ts";
export { discoverScalingGroups } from "./scaling_group/discovery.ts";
export { readSeats, type Seat } from "./scaling_group/seats.ts";
export { surveyNodeVersion } from "./scaling_group/version_survey.ts";
