/**
 * Keeps clouds from moving machines between zones while the groups of a NodeVersion are rolled, as such a machine is
 * ended without a drain. A hold is a lease, recorded on the ScalingGroup before the cloud is called; the first
 * discovery after its end lets the cloud continue. Only what Ostler suspended is resumed.
 */
import type { Cluster } from "../../cluster.ts";
import { groupKeyOf } from "../../clouds/driver.ts";
import { unavailable } from "../../failures.ts";
import { listClusterObjects, patchClusterObject } from "../../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../../kube/status.ts";
import { type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";

/** On a ScalingGroup whose cloud does not move machines by itself: the end of the hold (epoch ms). */
const heldAnnotation = "ostler.dev/rebalancing-held-until";

/** Renewals within this time (ms) are skipped, as each write of a group wakes all of its readers. */
const renewMs = 1_800_000;

/** Returns whether Ostler keeps the cloud from moving machines of the group. */
export function isRebalancingHeld({ metadata }: Pick<ScalingGroup, "metadata">): boolean {
  return metadata.annotations?.[heldAnnotation] !== undefined;
}

/** Suspends the moves in all groups of a NodeVersion that have any, until a time (epoch ms). */
export function holdRebalancing(kube: Cluster, { version, until }: { version: string; until: number }): Promise<void> {
  return attempting(`hold the rebalancing of the groups of NodeVersion "${version}"`, async () => {
    const own = await groupsOf(kube, version);
    if (own.length === 0) return;
    const driver = await kube.cloud.driver();
    if (!driver.ensureRebalancing) return;
    const moving = new Set(
      (await driver.groups()).groups.filter(({ rebalances }) => rebalances).map(({ id }) => groupKeyOf(id)),
    );
    for (const object of own) {
      const { groupId: group } = object.spec;
      const isMoving = moving.has(groupKeyOf(group));
      if (!isMoving && !isRebalancingHeld(object)) continue;
      await renew(kube, object, until);
      if (isMoving) await driver.ensureRebalancing({ group, isOn: false });
    }
  });
}

/** Resumes the moves in all groups of a NodeVersion in which Ostler suspended them. */
export function letRebalancingGo(kube: Cluster, { version }: { version: string }): Promise<void> {
  return attempting(`end the hold of the rebalancing of the groups of NodeVersion "${version}"`, async () => {
    for (const object of await groupsOf(kube, version)) await resume(kube, object);
  });
}

/** Resumes the moves in a group if Ostler suspended them, and the hold is over at `now` (epoch ms). */
export async function endOldRebalancingHold(kube: Cluster, object: ScalingGroup, now: number): Promise<void> {
  // An unreadable end is over, because users can edit it.
  if (!(Number(object.metadata.annotations?.[heldAnnotation]) > now)) await resume(kube, object);
}

/** Resumes the moves in a group if Ostler suspended them. */
export async function resume(kube: Cluster, object: ScalingGroup): Promise<void> {
  if (!isRebalancingHeld(object)) return;
  const driver = await kube.cloud.driver();
  await driver.ensureRebalancing?.({ group: object.spec.groupId, isOn: true });
  await write(kube, object, null);
}

async function groupsOf(kube: Cluster, version: string): Promise<ScalingGroup[]> {
  return (await listClusterObjects(kube, scalingGroups)).filter(({ spec }) => spec.nodeImage === version);
}

async function renew(kube: Cluster, object: ScalingGroup, until: number): Promise<void> {
  const left = until - Number(object.metadata.annotations?.[heldAnnotation] ?? 0);
  if (!(left < renewMs)) await write(kube, object, String(until));
}

async function write(kube: Cluster, { metadata }: ScalingGroup, value: string | null): Promise<void> {
  const { name, resourceVersion } = metadata;
  const body = { metadata: { resourceVersion, annotations: { [heldAnnotation]: value } } };
  try {
    await ifFound(patchClusterObject(kube, scalingGroups, { name, body }));
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    throw unavailable(`Failed to annotate ScalingGroup "${name}": conflict, the object was modified`);
  }
}
