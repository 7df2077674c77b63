/** Scaling groups among other pools: each as an object of the form that a pool's row is read from. */
import { z } from "zod";
import { isControlPlane } from "../../activities/node_version/version_release.ts";
import type { Kube } from "../../activities/kube/client.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { ScalingGroup, scalingGroups } from "../../activities/kube/update_kinds.ts";
import { groupOfPool, nodePoolOf, poolOfGroup } from "../../workflows/commands/start_options.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { ifAllowed, listAll } from "../connect/cluster.ts";

const place = { group: scalingGroups.group, version: scalingGroups.version, plural: scalingGroups.plural };

/** The same pool with its kind, which its name tells. */
export function withKind(pool: PoolRef): PoolRef {
  if (groupOfPool(pool) !== undefined) return { ...pool, kind: "ScalingGroup" };
  return nodePoolOf(pool) === undefined ? pool : { ...pool, kind: "NodePool" };
}

/** The group of a pool; undefined where there is none, or where the pool is none. */
export async function readGroup(kube: Kube, pool: PoolRef): Promise<unknown> {
  const name = groupOfPool(pool);
  if (name === undefined) return undefined;
  return asPool(await ifFound(kube.custom.getClusterCustomObject({ ...place, name })));
}

/** All groups; none where there are no such kinds, or nobody may look. */
export async function listGroups(kube: Kube, labelSelector: string | undefined): Promise<unknown[]> {
  const where = labelSelector === undefined ? {} : { labelSelector };
  const found = await ifAllowed(ifFound(listAll(kube, scalingGroups, where)));
  return (found ?? []).map(asPool).filter((each) => each !== undefined);
}

// A broken group must not hide the others.
const Group = z.object({
  metadata: ScalingGroup.shape.metadata,
  spec: z.object({ nodeImage: z.string(), role: z.string().default("") }).optional().catch(undefined),
});

/** Its Rollout has the number of its machines; the object has none. */
function asPool(object: unknown): unknown {
  const { data } = Group.safeParse(object);
  if (!data) return undefined;
  const { metadata, spec } = data;
  const { namespace, name } = poolOfGroup(metadata.name);
  const stage = spec && isControlPlane({ spec }) ? "ControlPlane" : "Workers";
  const follows = spec ? { follows: { version: spec.nodeImage, stage } } : {};
  return { metadata: { ...metadata, namespace, name }, spec: { replicas: 0 }, ...follows };
}
