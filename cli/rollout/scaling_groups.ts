/** Reads ScalingGroups, in the shape of a MachineDeployment from which `poolRow` makes a row. */
import { z } from "zod";
import { isControlPlane } from "../../activities/node_version/version_release.ts";
import type { Kube } from "../../activities/kube/client.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { ScalingGroup, scalingGroups } from "../../activities/kube/update_kinds.ts";
import { groupOfPool, nodePoolOf, poolOfGroup } from "../../workflows/commands/start_options.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { ifAllowed, listAll } from "../connect/cluster.ts";

const place = { group: scalingGroups.group, version: scalingGroups.version, plural: scalingGroups.plural };

/**
 * Returns the pool with kind ScalingGroup or NodePool if its namespace and name show this kind; returns other pools
 * unchanged.
 */
export function withKind(pool: PoolRef): PoolRef {
  if (groupOfPool(pool) !== undefined) return { ...pool, kind: "ScalingGroup" };
  return nodePoolOf(pool) === undefined ? pool : { ...pool, kind: "NodePool" };
}

/**
 * Returns the ScalingGroup of a pool, in the shape of a MachineDeployment; undefined if the ScalingGroup does not
 * exist, or the pool is of another kind.
 */
export async function readGroup(kube: Kube, pool: PoolRef): Promise<unknown> {
  const name = groupOfPool(pool);
  if (name === undefined) return undefined;
  return asPool(await ifFound(kube.custom.getClusterCustomObject({ ...place, name })));
}

/**
 * Returns all ScalingGroups, in the shape of MachineDeployments; none if their CRD is not installed, and undefined if
 * the user may not list them.
 */
export async function listGroups(kube: Kube, labelSelector: string | undefined): Promise<unknown[] | undefined> {
  const where = labelSelector === undefined ? {} : { labelSelector };
  const found = await ifAllowed(ifFound(listAll(kube, scalingGroups, where)).then((items = []) => items));
  return found?.map(asPool).filter((each) => each !== undefined);
}

// Only the fields that a row needs: an otherwise invalid group must not hide the others.
const Group = z.object({
  metadata: ScalingGroup.shape.metadata,
  spec: z.object({ nodeImage: z.string(), role: z.string().default("") }).optional().catch(undefined),
});

/**
 * Returns a ScalingGroup in the shape of a MachineDeployment, with 0 replicas, because only its Rollout has the number
 * of machines.
 */
function asPool(object: unknown): unknown {
  const { data } = Group.safeParse(object);
  if (!data) return undefined;
  const { metadata, spec } = data;
  const { namespace, name } = poolOfGroup(metadata.name);
  const stage = spec && isControlPlane({ spec }) ? "ControlPlane" : "Workers";
  const follows = spec ? { follows: { version: spec.nodeImage, stage } } : {};
  return { metadata: { ...metadata, namespace, name }, spec: { replicas: 0 }, ...follows };
}
