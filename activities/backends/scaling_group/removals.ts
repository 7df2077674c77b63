/**
 * Deletes a machine: records the intent, calls the cloud until the instance is deleted, then removes node and records.
 */
import type { Cluster } from "../../cluster.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import { groupKeyOf, type Instance } from "../../clouds/driver.ts";
import { moot, refused, unavailable } from "../../failures.ts";
import { asMergePatch, type Kube } from "../../kube/client.ts";
import { createClusterObject, patchClusterObject, readClusterObject } from "../../kube/resources.ts";
import { abreast, attempting, ifFound, ifRoom, statusOf } from "../../kube/status.ts";
import { pendingNodes, type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";
import type { GroupNode } from "../../node_version/group_nodes.ts";
import { marks } from "../../node_version/marks.ts";
import type { MachineState, MemberRef } from "../contract.ts";
import { marksOf } from "./boots.ts";
import { inheritanceFor } from "./inheritance.ts";
import { isOfControlPlane, leaveEtcd, refuseUnfit } from "./control_plane.ts";
import { groupFinalizer, patchLedger, withLegacy, written } from "./ledger.ts";
import { closedOutside, noteSize, obsoleteIn, openOrders, orphansOf } from "./size.ts";
import { isLost, memberIdOf, orderOfInstance } from "./member.ts";
import { keptOf, readGroupState } from "./observe.ts";
import {
  deleteRecord,
  isAlive,
  isOf,
  type Order,
  orderOf,
  readRecords,
  recordAnnotations,
  recordFinalizer,
  type Removal,
  removalName,
  removalOf,
} from "./records.ts";
import { type Asked, type CloudSight, groupNameOf, readAsked, readCloud } from "./sight.ts";
import { keepFromAutoscaler } from "./autoscaling.ts";
import { endAttempt, spareMember } from "./orders.ts";
import { isRebalancingHeld, resume } from "./rebalancing.ts";

/** Milliseconds until the deadline in a removal's record, which only informs users. */
const leaveMs = 60_000;

interface Place {
  pool: PoolRef;
  asked: Asked;
  seen: CloudSight;
}

/**
 * Removes a machine from the cloud. If the group's size was increased by one (a slot) for its replacement or for the
 * machine itself, that slot is removed too.
 */
export function removeMember(kube: Cluster, { pool, machine }: MemberRef): Promise<void> {
  return attempting(`remove machine "${machine}"`, async () => {
    const asked = await readAsked(kube, pool);
    if (!asked) return;
    const seen = await readCloud(kube, asked);
    refuseUnfit(asked, seen, `remove machine "${machine}"`);
    const removal = await meant(kube, { pool, asked, seen }, machine);
    if (removal) await tell(kube, { asked, seen }, await settled(kube, { asked, seen }, removal));
  });
}

/**
 * Repeats the removal of a machine and returns its progress; once it is deleted, removes its records and returns
 * undefined.
 */
export function seeMemberOff(kube: Cluster, { pool, machine }: MemberRef): Promise<MachineState | undefined> {
  return attempting(`delete machine "${machine}"`, async () => {
    const asked = await readAsked(kube, pool);
    if (!asked) return undefined;
    const seen = await readCloud(kube, asked);
    const order = seen.records.orders.find(({ id }) => id === machine);
    const removal = await removalFor(kube, { pool, asked, seen }, { machine, order });
    const isGoing = removal &&
      await tell(kube, { asked, seen }, await settled(kube, { asked, seen }, removal)) === "Going";
    if (isGoing) return await readGroupState(kube, { pool, machine });
    if (!removal && order && !isLost(order, seen.at)) {
      const isWithdrawn = order.goal === "Leave" && order.journal !== "";
      if (isWithdrawn) await endAttempt(kube, asked.group.spec.groupId, order);
      return await readGroupState(kube, { pool, machine });
    }
    await forget(kube, { asked, seen }, { machine, removal });
    return undefined;
  });
}

/** Returns the record of a removal; creates one for a withdrawn order whose instance was created after all. */
async function removalFor(
  kube: Cluster,
  place: Place,
  { machine, order }: { machine: string; order: Order | undefined },
): Promise<Removal | undefined> {
  const { removals } = place.seen.records;
  const hasCome = order?.goal === "Leave" && place.seen.instances.some((each) => memberIdOf(each) === machine);
  return removals.find(({ member }) => member === machine) ?? (hasCome ? await meant(kube, place, machine) : undefined);
}

/**
 * Looks for an order of a replacement that was recorded since the snapshot. If there is one, the removal makes the
 * group smaller by one, unless the cloud is already deleting the machine and so replaces it by itself. Throws Transient
 * while the order has no instance, because it may still be withdrawn.
 */
async function settled(
  kube: Cluster,
  { asked: { group: { spec } }, seen }: Pick<Place, "asked" | "seen">,
  removal: Removal,
): Promise<Removal> {
  const instance = seen.instances.find((each) => isOf(removal.providerId, each));
  if (removal.shrinks || !isAlive(instance)) return removal;
  const { orders } = await readRecords(kube, spec.groupId);
  const [rival] = orders.filter(({ donor, goal }) => donor === removal.member && goal === "Join");
  if (!rival) return removal;
  if (rival.providerId === "") {
    throw unavailable(
      `Failed to remove machine "${removal.member}": order "${rival.id}" for its replacement is in progress`,
    );
  }
  const { name, uid } = removal.record.metadata;
  const body = { metadata: { uid, annotations: { [recordAnnotations.shrinks]: "true" } } };
  return removalOf(await patchClusterObject(kube, pendingNodes, { name, body }));
}

/**
 * Returns the record of a removal, and creates it if it is missing. Returns undefined for a machine without a known
 * instance, and withdraws the order of such a machine. Throws Moot for a joined machine that is protected, unless the
 * policy replaces protected machines.
 */
async function meant(kube: Cluster, { pool, asked, seen }: Place, machine: string): Promise<Removal | undefined> {
  const known = seen.records.removals.find(({ member }) => member === machine);
  if (known) return known;
  const instance = seen.instances.find((each) => memberIdOf(each) === machine);
  const own = instance
    ? orderOfInstance(seen.records.orders, instance)
    : seen.records.orders.find(({ id }) => id === machine);
  if (instance && (own?.isDone ?? true)) await refuseProtected(kube, { pool, asked, seen }, instance);
  const providerId = instance?.providerId ?? own?.providerId ?? "";
  if (providerId === "") return void (own && await giveUp(kube, own));
  const { metadata, spec } = asked.group;
  const name = removalName(groupNameOf(pool), machine);
  // An instance that is already being deleted was removed outside of Ostler, so the group replaces it.
  const shrinks = isAlive(instance) && await isAbove(kube, { seen }, { machine, own });
  if (shrinks) await noteSize(kube, { asked, seen });
  // The replacement of a machine whose order is closed has an order, so it takes over by that order.
  const isReplaced = closedOutside(seen).some(({ donor }) => donor === machine);
  if (!shrinks && instance && !isReplaced) await leave(kube, { pool, asked, seen }, { machine, instance });
  const body = {
    metadata: {
      ...{ name, finalizers: [recordFinalizer] },
      annotations: { [recordAnnotations.member]: machine, [recordAnnotations.shrinks]: String(shrinks) },
      ownerReferences: [{
        ...{ apiVersion: "update.edgeless.systems/v1alpha1", kind: "ScalingGroup" },
        ...{ name: metadata.name, uid: metadata.uid },
      }],
    },
    spec: {
      ...{ providerID: providerId, groupID: spec.groupId, goal: "Leave", nodeName: instance?.node ?? "" },
      deadline: new Date(Date.now() + leaveMs).toISOString(),
    },
  };
  return removalOf(await createClusterObject(kube, pendingNodes, { kind: "PendingNode", ...body }));
}

/**
 * Throws Moot for a machine that was protected during its drain. Callers do not check a new machine, because a group
 * may protect each machine that it creates.
 */
async function refuseProtected(kube: Cluster, place: Place, instance: Instance): Promise<void> {
  if (!instance.isProtected || (await keptOf(kube, place)).kept === undefined) return;
  throw moot(
    "GenerationStale",
    `Failed to remove machine "${memberIdOf(instance)}": its scale-in protection was enabled`,
  );
}

/**
 * Records the inheritance of a machine on the ScalingGroup, because the group creates the replacement itself, without
 * an order.
 */
async function leave(
  kube: Cluster,
  place: Place,
  { machine, instance }: { machine: string; instance: Instance },
): Promise<void> {
  const { group: { metadata }, ledger } = place.asked;
  const inheritance = await inheritanceFor(kube, place, instance);
  if (!inheritance || ledger.legacies.some(({ from }) => from === machine)) return;
  const annotations = written({
    legacies: withLegacy(ledger.legacies, { from: machine, since: new Date().toISOString(), inheritance }),
  });
  await patchLedger(kube, metadata, annotations);
}

/**
 * Returns whether the group is one larger because of this machine: it is obsolete, or an open order created or replaces
 * it. If the old machine of another order was removed outside of Ostler, that order is changed to replace this machine.
 */
async function isAbove(
  kube: Kube,
  { seen }: Pick<Place, "seen">,
  { machine, own }: { machine: string; own: Order | undefined },
): Promise<boolean> {
  const isObsolete = obsoleteIn(seen).some((each) => memberIdOf(each) === machine);
  const isPaired = isObsolete ||
    openOrders(seen).some(({ donor, goal, id }) => id === own?.id || (donor === machine && goal === "Join"));
  const [orphan] = orphansOf(seen);
  if (isPaired || !orphan) return isPaired;
  const body = { metadata: { uid: orphan.uid, annotations: { [recordAnnotations.donor]: machine } } };
  await patchClusterObject(kube, pendingNodes, { name: orphan.record.metadata.name, body });
  return true;
}

/**
 * Has the cloud remove an instance. Throws Refused for an instance of another group, because users with permission to
 * write records could name any instance.
 */
async function tell(
  kube: Cluster,
  { asked, seen }: Pick<Place, "asked" | "seen">,
  { providerId, shrinks }: Removal,
): Promise<"Going" | "Gone"> {
  const { group } = asked;
  const driver = await kube.cloud.driver();
  const { groupId } = group.spec;
  const instance = await driver.instance(providerId);
  if (instance && groupKeyOf(instance.group) !== groupKeyOf(groupId)) {
    const state = `the instance belongs to group "${instance.group}"`;
    throw refused("CloudRefused", `Failed to remove instance "${providerId}" from group "${groupId}": ${state}`);
  }
  if (isOfControlPlane(asked, seen)) {
    refuseUnfit(asked, seen, `remove instance "${providerId}"`);
    if (instance) await leaveEtcd(kube, seen, instance);
  }
  if (instance) await ensureGroupNamed(kube, seen, { instance, groupId });
  return await driver.remove({ group: groupId, providerId, shrinks });
}

/**
 * Writes the group's ID on the Node of an instance of the group, because the cloud does not show to which group a
 * deleted instance belonged.
 */
async function ensureGroupNamed(
  kube: Kube,
  { nodes }: CloudSight,
  { instance: { providerId, image }, groupId }: { instance: Instance; groupId: string },
): Promise<void> {
  const node = nodes.get(providerId.toLowerCase());
  if (!node || groupKeyOf(node.group) === groupKeyOf(groupId)) return;
  const body = { metadata: { uid: node.uid, annotations: marksOf(node.image || image, groupId) } };
  await ifRoom(ifFound(kube.core.patchNode({ name: node.name, body }, asMergePatch)));
}

/** Withdraws an order with an unknown outcome; its token shows later whether an instance was created. */
async function giveUp(kube: Kube, { record, uid, goal }: Order): Promise<void> {
  if (goal === "Leave") return;
  const annotations = { [recordAnnotations.givenUp]: new Date().toISOString() };
  const body = { metadata: { uid, annotations }, spec: { goal: "Leave" } };
  await ifFound(patchClusterObject(kube, pendingNodes, { name: record.metadata.name, body }));
}

/**
 * Deletes the Node of a deleted machine, if it still belongs to that instance, and then the records of the machine. The
 * record of the removal is deleted last, so that an interrupted attempt is repeated.
 */
async function forget(
  kube: Kube,
  { asked, seen }: Pick<Place, "asked" | "seen">,
  { machine, removal }: { machine: string; removal: Removal | undefined },
): Promise<void> {
  await deleteNode(kube, { asked, seen }, removal?.providerId ?? "");
  const [open, closed] = [openOrders(seen), closedOutside(seen)];
  for (const order of seen.records.orders) {
    const isOwn = order.id === machine;
    const isClosed = removal?.shrinks || closed.includes(order);
    if (isOwn && !isClosed && (open.includes(order) || isDonorThere(seen, order))) {
      await noteVanished(kube, order);
    } else if (order.donor === machine && order.isDone && !isClosed && open.includes(order)) {
      continue; // The group replaced the old machine by itself, and stays one larger until another machine is removed.
    } else if (isOwn || (order.donor === machine && (order.isDone || isUnseen(seen, order)))) {
      await deleteRecord(kube, order.record);
    } else if (order.donor === machine && isClosed) await settle(kube, order);
  }
  if (removal) await deleteRecord(kube, removal.record);
}

/**
 * Records that the declared size now counts the new machine, because the replaced machine was removed first; deletes
 * the record if the new machine has joined already.
 */
async function settle(kube: Kube, { record: { metadata: { name } }, uid }: Order): Promise<void> {
  const annotations = { [recordAnnotations.settled]: "true" };
  const record = await ifFound(
    patchClusterObject(kube, pendingNodes, { name, body: { metadata: { uid, annotations } } }),
  );
  if (record && orderOf(record).isDone) await deleteRecord(kube, record);
}

function isDonorThere({ instances }: CloudSight, { donor }: Order): boolean {
  return instances.some((each) => isAlive(each) && memberIdOf(each) === donor);
}

/** Records that the group stays one larger for this order until the replaced machine is deleted. */
async function noteVanished(kube: Kube, { record: { metadata: { name } }, uid }: Order): Promise<void> {
  const annotations = { [recordAnnotations.vanished]: "true" };
  await ifFound(patchClusterObject(kube, pendingNodes, { name, body: { metadata: { uid, annotations } } }));
}

function isUnseen({ instances, at }: CloudSight, order: Order): boolean {
  return isLost(order, at) && !instances.some((each: Instance) => each.token === order.id);
}

/**
 * Deletes the Node of a deleted instance, but only if an annotation of the Node names the group or the cloud listed the
 * instance in it, because users with permission to write records could name any machine.
 */
async function deleteNode(
  kube: Kube,
  { asked, seen }: Pick<Place, "asked" | "seen">,
  providerId: string,
): Promise<void> {
  const node = seen.nodes.get(providerId.toLowerCase());
  if (!node || providerId === "" || (node.isControlPlane && !isOfControlPlane(asked, seen))) return;
  const isListed = seen.instances.some((each) => isOf(providerId, each));
  if (!isListed && !await isNamed(kube, node, asked.group.spec.groupId)) return;
  try {
    await ifFound(kube.core.deleteNode({ name: node.name, body: { preconditions: { uid: node.uid } } }));
  } catch (error) {
    if (statusOf(error) !== 409) throw error; // 409: the Node of this name has another UID, so it is a newer node
  }
}

async function isNamed(kube: Kube, { name, group }: GroupNode, groupId: string): Promise<boolean> {
  const isOwn = (id: string): boolean => groupKeyOf(id) === groupKeyOf(groupId);
  if (isOwn(group)) return true;
  // The annotation may have been written a moment ago, which the snapshot does not show yet.
  const node = await ifFound(kube.core.readNode({ name }));
  return node !== undefined && isOwn(node.metadata?.annotations?.[marks.group] ?? "");
}

// A group that is being deleted keeps its machines; records, marks and cordons are removed.

/** Maximum number of machines that are released concurrently. */
const width = 20;

/** Removes records, marks and cordons; only the records if the cloud does not have the group. */
export function releaseGroup(kube: Cluster, pool: PoolRef): Promise<void> {
  return attempting(`release the machines of ScalingGroup "${groupNameOf(pool)}"`, async () => {
    const asked = await readAsked(kube, pool);
    if (!asked) return;
    await abreast(width, await chosenOf(kube, asked), (machine) => spareMember(kube, { pool, machine }));
    const { orders, removals } = await readRecords(kube, asked.group.spec.groupId);
    await abreast(width, [...orders, ...removals], ({ record }) => deleteRecord(kube, record));
    await ifNotRefused(resume(kube, asked.group));
    await keepFromAutoscaler(kube, pool, { isRolling: false });
  });
}

async function chosenOf(kube: Cluster, asked: Asked): Promise<string[]> {
  const seen = await ifNotRefused(readCloud(kube, asked));
  const isNode = (providerId: string): boolean => seen?.nodes.has(providerId.toLowerCase()) ?? false;
  return (seen?.instances ?? []).filter(({ providerId }) => isNode(providerId)).map(memberIdOf);
}

/**
 * Returns the result, or undefined if the cloud refuses a request, so that a ScalingGroup whose group the cloud does
 * not have can be released too.
 */
function ifNotRefused<T>(result: Promise<T>): Promise<T | undefined> {
  return result.catch((error: { type?: string }) => {
    if (error.type === "CloudRefused") return undefined;
    throw error;
  });
}

/**
 * Removes the finalizer of the ScalingGroup; first resumes rebalancing if Ostler suspended it after the release of the
 * machines.
 */
export async function removeGroupFinalizer(kube: Cluster, pool: PoolRef): Promise<void> {
  const name = groupNameOf(pool);
  await attempting(`remove the finalizer of ScalingGroup "${name}"`, async () => {
    const read = (): Promise<ScalingGroup | undefined> => ifFound(readClusterObject(kube, scalingGroups, name));
    const found = await read();
    if (!found?.metadata.finalizers?.includes(groupFinalizer)) return;
    await ifNotRefused(resume(kube, found));
    const { finalizers = [], resourceVersion } = (isRebalancingHeld(found) ? await read() : found)?.metadata ?? {};
    const left = finalizers.filter((each) => each !== groupFinalizer);
    if (left.length === finalizers.length) return;
    const body = { metadata: { resourceVersion, finalizers: left } };
    await ifFound(patchClusterObject(kube, scalingGroups, { name, body }));
  });
}
