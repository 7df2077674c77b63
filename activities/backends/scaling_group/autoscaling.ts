/**
 * Keeps a cluster-autoscaler without an AutoscalingStrategy from removing nodes of a group that is rolled: new nodes
 * are empty at first, so the autoscaler would consider them unneeded.
 */
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Cluster } from "../../cluster.ts";
import { groupKeyOf } from "../../clouds/driver.ts";
import { unheldAutoscaler } from "../../kube/seen_autoscaler.ts";
import { readClusterObject, readObject, rollouts } from "../../kube/resources.ts";
import { abreast, ifFound } from "../../kube/status.ts";
import { type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";
import { ensureNodeKept, ensureNodeNotKept } from "../../node/cordon.ts";
import { isOwnHold } from "../../node/holder.ts";
import { type GroupNode, readGroupNodes } from "../../node_version/group_nodes.ts";
import { isAtRest } from "../../status/at_rest.ts";
import { groupNameOf, poolOfGroup } from "./sight.ts";

/** Number of nodes that are written concurrently. */
const width = 10;

/**
 * While the group is rolled, annotates its nodes so that a cluster-autoscaler without an AutoscalingStrategy does not
 * remove them; afterwards, removes the annotations. Returns a sentence about what that autoscaler can still do; "" if
 * no such autoscaler manages the group.
 */
export async function keepFromAutoscaler(
  kube: Cluster,
  pool: PoolRef,
  { isRolling }: { isRolling: boolean },
): Promise<string> {
  if (!isRolling) {
    const own = (await readGroupNodes(kube)).filter(({ keptBy }) => isOwnHold(pool, keptBy));
    await abreast(width, own, ({ name }) => ensureNodeNotKept(kube, { pool, node: name }));
    return "";
  }
  let group: ScalingGroup | undefined;
  const unheld = await unheldAutoscaler(kube, async () => {
    return group = await ifFound(readClusterObject(kube, scalingGroups, groupNameOf(pool)));
  });
  const key = groupKeyOf(group?.spec.groupId ?? "");
  if (unheld === "" || key === "") return unheld;
  const isOpen = ({ group: of, isKept }: GroupNode): boolean => groupKeyOf(of) === key && !isKept;
  await abreast(width, (await readGroupNodes(kube)).filter(isOpen), ({ name }) => {
    return ensureNodeKept(kube, { pool, node: name });
  });
  return unheld;
}

/**
 * Removes the annotations against scale-down from nodes whose ScalingGroup does not exist, or whose rollout has ended
 * or waits without a machine in progress. If the workflow of the group was terminated, or the finalizer of the
 * ScalingGroup removed, no workflow run would remove them.
 */
export async function endLeftKeeps(kube: Cluster, groups: readonly ScalingGroup[]): Promise<void> {
  for (const [holder, nodes] of Map.groupBy(await readGroupNodes(kube), ({ keptBy }) => keptBy)) {
    const pool = poolOf(holder);
    if (!pool || !await isLeft(kube, pool, groups)) continue;
    await abreast(width, nodes, ({ name }) => ensureNodeNotKept(kube, { pool, node: name }));
  }
}

/**
 * Returns whether no workflow run will remove the annotations against scale-down from the pool's nodes; false if the
 * Rollout of an existing ScalingGroup is missing or empty, because a run may be about to begin.
 */
async function isLeft(kube: Cluster, pool: PoolRef, groups: readonly ScalingGroup[]): Promise<boolean> {
  if (!groups.some(({ metadata }) => metadata.name === groupNameOf(pool))) return true;
  const { namespace, name } = pool;
  const rollout = await ifFound(readObject(kube, rollouts, { namespace, name }));
  return isAtRest(rollout?.status ?? {});
}

/**
 * Returns the scaling group that annotated a node against scale-down, as a pool; undefined if another controller did.
 */
function poolOf(holder: string): PoolRef | undefined {
  const [, cluster, name = ""] = /^(?:([^/]+)\/)?scaling-group\/[^/]+\/([^/]+)$/.exec(holder) ?? [];
  if (name === "") return undefined;
  const pool = poolOfGroup(groupNameOf({ namespace: "", name }));
  return cluster === undefined ? pool : { ...pool, cluster };
}
