/**
 * Keeps clouds from moving machines between zones while the groups of a NodeVersion are rolled, because a cloud ends
 * such a machine without a drain. A hold is a lease, recorded on the ScalingGroup before the cloud is called; the first
 * discovery after its end lets the cloud continue, unless the group has open orders. Only what Ostler suspended is
 * resumed.
 */
import type { Cluster } from "../../cluster.ts";
import { groupKeyOf } from "../../clouds/driver.ts";
import { failureTypeOf, unavailable } from "../../failures.ts";
import { listClusterObjects, patchClusterObject } from "../../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../../kube/status.ts";
import { type PendingNode, pendingNodes, type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";
import { groupFinalizer } from "./ledger.ts";
import { recordAnnotations } from "./records.ts";

/**
 * Annotation of a ScalingGroup: the time (epoch ms) until which Ostler keeps the cloud from moving its machines between
 * zones.
 */
const heldAnnotation = "ostler.dev/rebalancing-held-until";

/**
 * A lease is renewed only if this extends it by at least this time (ms), because after each write of a ScalingGroup all
 * activities that wait for its changes read again.
 */
const renewMs = 1_800_000;

/** Returns whether Ostler keeps the cloud from moving machines of the group between zones. */
export function isRebalancingHeld({ metadata }: Pick<ScalingGroup, "metadata">): boolean {
  return metadata.annotations?.[heldAnnotation] !== undefined;
}

/**
 * Returns whether open orders keep the group above its declared size. If rebalancing were resumed then, the cloud would
 * end machines of the fullest zone, even while the rollout is halted.
 */
export function hasOpenOrders({ spec }: Pick<ScalingGroup, "spec">, records: readonly PendingNode[]): boolean {
  return records.some(({ metadata: { annotations = {} }, spec: { groupID } }) =>
    groupKeyOf(groupID) === groupKeyOf(spec.groupId) && annotations[recordAnnotations.donor] !== undefined &&
    annotations[recordAnnotations.settled] !== "true"
  );
}

/**
 * Suspends the moves of machines between zones until a time (epoch ms), in all groups of a NodeVersion in which the
 * cloud makes such moves.
 */
export function holdRebalancing(kube: Cluster, { version, until }: { version: string; until: number }): Promise<void> {
  return attempting(`suspend the rebalancing of the groups of NodeVersion "${version}"`, async () => {
    const own = (await groupsOf(kube, version)).filter(({ metadata }) => !metadata.deletionTimestamp);
    if (own.length === 0) return;
    const driver = await kube.cloud.driver();
    if (!driver.ensureRebalancing) return;
    const moving = new Set(
      (await driver.groups()).groups.filter(({ rebalances }) => rebalances).map(({ id }) => groupKeyOf(id)),
    );
    await allOf(own, async (object) => {
      const { groupId: group } = object.spec;
      const isMoving = moving.has(groupKeyOf(group));
      if (!isMoving && !isRebalancingHeld(object)) return;
      await renew(kube, object, until);
      if (isMoving) await driver.ensureRebalancing?.({ group, isOn: false });
    });
  });
}

/**
 * Resumes the moves of machines between zones, in all groups of a NodeVersion in which Ostler suspended them, and that
 * have no open orders.
 */
export function letRebalancingGo(kube: Cluster, { version }: { version: string }): Promise<void> {
  return attempting(`resume the rebalancing of the groups of NodeVersion "${version}"`, async () => {
    const held = (await groupsOf(kube, version)).filter(isRebalancingHeld);
    if (held.length === 0) return;
    const records = await listClusterObjects(kube, pendingNodes);
    await allOf(held.filter((object) => !hasOpenOrders(object, records)), (object) => resume(kube, object));
  });
}

/**
 * Resumes the moves of machines between zones, in groups in which Ostler suspended them until a time before `now`
 * (epoch ms), and that have no open orders.
 */
export async function endOldRebalancingHolds(
  kube: Cluster,
  objects: readonly ScalingGroup[],
  now: number,
): Promise<void> {
  // An unreadable end counts as over, because users can edit the annotation.
  const isOver = ({ metadata }: ScalingGroup): boolean => !(Number(metadata.annotations?.[heldAnnotation]) > now);
  const over = objects.filter((object) => isRebalancingHeld(object) && isOver(object));
  if (over.length === 0) return;
  const records = await listClusterObjects(kube, pendingNodes);
  await allOf(over.filter((object) => !hasOpenOrders(object, records)), (object) => resume(kube, object));
}

/**
 * Does the work for all items, even if the cloud or the API server refuses it for some, and throws the first refusal at
 * the end. Any other failure is thrown immediately, so the remaining items are skipped.
 */
export async function allOf<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const refusals: unknown[] = [];
  for (const item of items) {
    await work(item).catch((error: unknown) => {
      if (!["AccessDenied", "CloudRefused", "ObjectInvalid"].includes(failureTypeOf(error))) throw error;
      refusals.push(error);
    });
  }
  if (refusals.length > 0) throw refusals[0];
}

/** Resumes the moves of machines between zones in a group, if Ostler suspended them. */
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
  const { name, resourceVersion, finalizers = [] } = metadata;
  // Without the finalizer the hold of a group that is deleted before its first order would never end.
  const kept = value === null ? {} : { finalizers: [...new Set([...finalizers, groupFinalizer])] };
  const body = { metadata: { resourceVersion, annotations: { [heldAnnotation]: value }, ...kept } };
  try {
    await ifFound(patchClusterObject(kube, scalingGroups, { name, body }));
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    throw unavailable(`Failed to annotate ScalingGroup "${name}": conflict, the object was modified`);
  }
}
