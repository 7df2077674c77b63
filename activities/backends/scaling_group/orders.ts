/**
 * Orders new machines and marks old ones. A record of the order (a PendingNode) with the order's token is created
 * before the cloud is called, so that no order is repeated or lost.
 */
import type { Cluster } from "../../cluster.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import { type Driver, groupKeyOf, type Instance, type Journal } from "../../clouds/driver.ts";
import { moot, refused, unavailable } from "../../failures.ts";
import { asMergePatch, type Kube } from "../../kube/client.ts";
import {
  createClusterObject,
  patchClusterObject,
  patchClusterStatus,
  readClusterObject,
} from "../../kube/resources.ts";
import { attempting, ifFound, ifRoom, statusOf } from "../../kube/status.ts";
import { type PendingNode, pendingNodes } from "../../kube/update_kinds.ts";
import type { AdmitOrder, MemberRef } from "../contract.ts";
import { ensureBoots } from "./boots.ts";
import { isOfControlPlane, refuseUnfit } from "./control_plane.ts";
import { inheritanceFor } from "./inheritance.ts";
import { patchLedger, taken, written } from "./ledger.ts";
import { countedComponents, memberIdOf, numberIn, unusedNumbers } from "./member.ts";
import {
  deleteRecord,
  isAlive,
  type Order,
  orderOf,
  readRecords,
  recordAnnotations,
  recordFinalizer,
} from "./records.ts";
import { isReached, noteSize, obsoleteIn, openOrders } from "./size.ts";
import { type Asked, type CloudSight, groupNameOf, needAsked, readAsked, readCloud } from "./sight.ts";
import { askedBy, hashOf } from "../../node_version/version_release.ts";
import { ensureNodeUncordoned } from "../../node/cordon.ts";
import { holderOf, isOwnHold } from "../../node/holder.ts";
import { marks } from "../../node_version/marks.ts";
import { chosenAnnotation, type GroupNode } from "../../node_version/group_nodes.ts";

/** Milliseconds until the deadline in an order's record, which only informs users; a rollout has its own deadlines. */
const joinMs = 1_800_000;

/**
 * Orders a machine; does nothing if it exists. Throws Moot if its token was already used, or if the machine to be
 * replaced was deleted.
 */
export function admitMember(kube: Cluster, { pool, machine, victim }: AdmitOrder): Promise<void> {
  return attempting(`order machine "${machine}"`, async () => {
    const asked = await needAsked(kube, pool);
    const seen = await readCloud(kube, asked);
    refuseUnfit(asked, seen, `order machine "${machine}"`);
    const known = seen.records.orders.find(({ id }) => id === machine);
    if (!known && seen.instances.some((each) => memberIdOf(each) === machine)) return;
    const order = known ?? await recorded(kube, { pool, asked, seen }, { machine, victim });
    if (order.goal === "Leave" || order.providerId !== "") return;
    // The group may have another target by now, because the read of the cloud takes seconds.
    const now = await noteNumber(kube, { pool, seen }, machine);
    refuseOtherTarget(now, order);
    await withdrawIfLate(kube, now, order);
    await give(kube, { pool, asked: now }, order);
  });
}

interface Place {
  pool: PoolRef;
  asked: Asked;
  seen: CloudSight;
}

async function recorded(
  kube: Cluster,
  { pool, asked, seen }: Place,
  { machine, victim }: { machine: string; victim: string | undefined },
): Promise<Order> {
  const number = numberIn(groupNameOf(pool), machine);
  if (number === undefined || !taken(unusedNumbers(asked, seen.instances), number)) {
    throw moot("MachineGone", `Failed to order machine "${machine}": the token of its order was already used`);
  }
  const donor = replacedFor({ asked, seen }, victim);
  // The group replaces a deleted machine by itself, so an order would create one machine too many.
  const isGoing = seen.records.removals.some(({ member }) => member === victim);
  if (!isAlive(donor) || isGoing) {
    throw moot("MachineGone", `Failed to order machine "${machine}": the machine to be replaced was deleted`);
  }
  waitForRival(seen, machine, memberIdOf(donor));
  const inheritance = await inheritanceFor(kube, { pool, asked, seen }, donor);
  await noteSize(kube, { asked, seen });
  const { metadata, spec } = asked.group;
  const annotations = {
    ...{ [recordAnnotations.target]: asked.target ? hashOf(asked.target) : "" },
    ...(victim === undefined ? {} : { [recordAnnotations.donor]: memberIdOf(donor) }),
    ...(donor.zone ? { [recordAnnotations.zone]: donor.zone } : {}),
    ...(inheritance ? { [recordAnnotations.inheritance]: JSON.stringify(inheritance) } : {}),
  };
  const owner = {
    ...{ apiVersion: "update.edgeless.systems/v1alpha1", kind: "ScalingGroup" },
    ...{ name: metadata.name, uid: metadata.uid },
  };
  const body = {
    metadata: { name: machine, finalizers: [recordFinalizer], annotations, ownerReferences: [owner] },
    spec: { groupID: spec.groupId, goal: "Join", deadline: new Date(Date.now() + joinMs).toISOString() },
  };
  return orderOf(await createRecord(kube, body, machine));
}

/**
 * Returns the machine that the new machine replaces: `victim`, or another outdated machine if `victim` is obsolete. An
 * obsolete machine gets no replacement, because the declared size does not count it.
 */
function replacedFor(
  { asked: { target, version }, seen }: Omit<Place, "pool">,
  victim: string | undefined,
): Instance | undefined {
  const found = seen.instances.find((each) => memberIdOf(each) === victim);
  const obsolete = obsoleteIn(seen);
  if (!found || !obsolete.includes(found) || !target) return found;
  const open = openOrders(seen);
  return seen.instances.find((each) => {
    const node = seen.nodes.get(each.providerId.toLowerCase());
    const components = countedComponents(node, { target, upgraded: askedBy(version).components });
    const isOutdated = hashOf({ image: each.image, components }) !== hashOf(target);
    const isInOrder = open.some(({ id, donor }) => [id, donor].includes(memberIdOf(each)));
    return isAlive(each) && isOutdated && !obsolete.includes(each) && !each.isProtected && !isInOrder;
  });
}

/**
 * Throws Transient while another order replaces the same old machine, or while the order that created the old machine
 * is not complete, because the group is then one larger already.
 */
function waitForRival(seen: CloudSight, machine: string, donor: string): void {
  const { instances, records } = seen;
  const open = openOrders(seen);
  const isOnItsWay = (order: Order): boolean => order.goal === "Join" && !isReached(order, instances);
  const rival = records.orders.find((order) =>
    (order.donor === donor && (isOnItsWay(order) || (order.goal === "Join" && open.includes(order)))) ||
    (order.id === donor && open.includes(order))
  );
  if (!rival) return;
  const state = rival.id === donor
    ? `"${donor}" itself replaces "${rival.donor}", and that replacement is not complete`
    : `"${rival.id}" already replaces "${donor}"`;
  throw unavailable(`Failed to order machine "${machine}" to replace "${donor}": ${state}`);
}

/**
 * Throws Moot if the group has another target than when the order was recorded; the rollout then withdraws the order.
 */
function refuseOtherTarget({ target }: Asked, { id, target: ordered }: Order): void {
  if (ordered === "" || (target && hashOf(target) === ordered)) return;
  throw moot("GenerationStale", `Failed to order machine "${id}": the target of its group changed meanwhile`);
}

/**
 * Withdraws an order without an instance and throws Moot if a removal of the old machine is recorded, because the group
 * then replaces the old machine by itself. An order and a removal each write their record before they read the other
 * records, so at least one of them finds the other. A removal that finds an order waits (`settled` in `removals.ts`).
 */
async function withdrawIfLate(kube: Cluster, { group: { spec } }: Asked, order: Order): Promise<void> {
  const { removals } = await readRecords(kube, spec.groupId);
  if (!removals.some(({ member }) => member === order.donor)) return;
  if (await endAttempt(kube, spec.groupId, order)) return;
  const instances = await (await kube.cloud.driver()).instances(spec.groupId);
  if (instances.some(({ token }) => token === order.id)) return;
  await deleteRecord(kube, order.record);
  throw moot(
    "MachineGone",
    `Failed to order machine "${order.id}": the machine to be replaced is already being deleted`,
  );
}

async function createRecord(
  kube: Kube,
  body: { metadata: object; spec: object },
  machine: string,
): Promise<PendingNode> {
  try {
    return await createClusterObject(kube, pendingNodes, { kind: "PendingNode", ...body });
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    throw unavailable(`Failed to order machine "${machine}": another process just created its PendingNode`);
  }
}

/**
 * Reads the group and records that the number in the order's token is used, before the cloud gets the order; returns
 * the group with this record.
 */
async function noteNumber(
  kube: Kube,
  { pool, seen }: Pick<Place, "pool" | "seen">,
  machine: string,
): Promise<Asked> {
  const asked = await needAsked(kube, pool);
  const { group, ledger } = asked;
  const number = numberIn(group.metadata.name, machine);
  const tokens = number === undefined ? undefined : taken(unusedNumbers(asked, seen.instances), number);
  if (!tokens) return asked;
  const noted = await patchLedger(kube, group.metadata, written({ tokens }));
  return { ...asked, group: noted, ledger: { ...ledger, tokens } };
}

async function give(kube: Cluster, { pool, asked }: Omit<Place, "seen">, order: Order): Promise<void> {
  const driver = await kube.cloud.driver();
  const { groupId } = asked.group.spec;
  // The group may have been modified, so its boot template is read before each order.
  await ensureBoots(kube, { pool, asked });
  const answer = await driver.order({
    ...{ group: groupId, token: order.id, journal: journalOf(kube, order) },
    ...(order.zone ? { zone: order.zone } : {}),
  });
  if (answer.outcome === "NoCapacity") return await noteTrouble(kube, order, { driver, says: answer.says });
  checkAge(order, answer.instance);
  await noteInstance(kube, order, answer.instance);
}

/**
 * Finds out whether an unfinished attempt to order a machine created an instance, and ends the attempt if not. Returns
 * whether there is an instance, which the cloud may not list yet.
 */
export async function endAttempt(kube: Cluster, group: string, order: Order): Promise<boolean> {
  const { attempts } = await kube.cloud.driver();
  const journal = journalOf(kube, order);
  if (!attempts?.isOpen(await journal.read())) return false;
  await attempts.end({ group, token: order.id, journal });
  return attempts.isOpen(await journal.read());
}

/**
 * Returns access to the record of the attempts of an order (the journal), an annotation of its PendingNode. A write
 * returns false if the annotation or the PendingNode was modified meanwhile.
 */
function journalOf(kube: Kube, { id, uid }: Order): Journal {
  const textIn = ({ metadata }: PendingNode): string => metadata.annotations?.[recordAnnotations.attempt] ?? "";
  return {
    read: async () => textIn(await readClusterObject(kube, pendingNodes, id)),
    write: async ({ from, to }) => {
      const record = await readClusterObject(kube, pendingNodes, id);
      if (textIn(record) !== from) return false;
      const { resourceVersion } = record.metadata;
      const metadata = { uid, resourceVersion, annotations: { [recordAnnotations.attempt]: to } };
      try {
        await patchClusterObject(kube, pendingNodes, { name: id, body: { metadata } });
        return true;
      } catch (error) {
        if (statusOf(error) !== 409) throw error;
        return false;
      }
    },
  };
}

/**
 * Milliseconds by which the clocks of clouds, workers and the API server may differ; a false refusal would leave the
 * new instance without a record.
 */
const skewMs = 600_000;

/**
 * Throws Refused if the instance is older than the order that has the same token: the token was used before, which is
 * possible only if a user edited the ledger.
 */
function checkAge({ id, since }: Order, instance: Instance): void {
  if (Date.parse(instance.since) >= Date.parse(since) - skewMs) return;
  throw refused(
    "CloudRefused",
    `Failed to order machine "${id}": older instance "${instance.providerId}" already has the token of this order`,
  );
}

async function noteTrouble(
  kube: Kube,
  { record: { metadata: { name } } }: Order,
  { driver, says }: { driver: Driver; says: string },
): Promise<void> {
  const trouble = `no capacity: ${driver.title} reports: ${says}`.slice(0, 1_000);
  const annotations = { [recordAnnotations.trouble]: trouble };
  await patchClusterObject(kube, pendingNodes, { name, body: { metadata: { annotations } } });
}

async function noteInstance(kube: Kube, { record, uid }: Order, { providerId, node, group }: Instance): Promise<void> {
  const { name } = record.metadata;
  const annotations = { [recordAnnotations.trouble]: null };
  const spec = { providerID: providerId, groupID: groupKeyOf(group), ...(node ? { nodeName: node } : {}) };
  await patchClusterStatus(kube, pendingNodes, { name, status: { cspState: "Creating", reachedGoal: false } });
  // The spec is written last, because it completes the record.
  await patchClusterObject(kube, pendingNodes, { name, body: { metadata: { uid, annotations }, spec } });
}

/**
 * Marks the node of a machine to be replaced; a machine without a node, or whose node has no room for annotations, is
 * recognized by the order of its replacement.
 */
export function chooseMember(kube: Cluster, member: MemberRef): Promise<void> {
  return attempting(`mark machine "${member.machine}" for replacement`, async () => {
    const asked = await readAsked(kube, member.pool);
    if (!asked) return;
    const seen = await seenFor(kube, asked);
    refuseUnfit(asked, seen, `mark machine "${member.machine}" for replacement`);
    const node = nodeIn(seen, member.machine);
    if (!node || node.chosenBy !== "") return;
    await annotate(kube, node, { [chosenAnnotation]: holderOf(member.pool) });
  });
}

/**
 * Removes Ostler's mark and cordon of a machine, and also the mark that the Constellation node operator left on its
 * node, because that operator does not act on the mark any more.
 */
export function spareMember(kube: Cluster, member: MemberRef): Promise<void> {
  return attempting(`uncordon and unmark machine "${member.machine}"`, async () => {
    const node = await nodeOf(kube, member);
    if (!node) return;
    const isOurs = isOwnHold(member.pool, node.chosenBy);
    const stale = {
      ...(isOurs ? { [chosenAnnotation]: null } : {}),
      ...(node.heir === "" ? {} : { [marks.heir]: null }),
    };
    if (Object.keys(stale).length > 0) await annotate(kube, node, stale);
    await ensureNodeUncordoned(kube, { pool: member.pool, node: node.name });
  });
}

async function annotate(
  kube: Kube,
  { name, uid }: GroupNode,
  annotations: Record<string, string | null>,
): Promise<void> {
  const write = ifFound(kube.core.patchNode({ name, body: { metadata: { uid, annotations } } }, asMergePatch));
  // A run would repeat a removal that failed without an error, without end.
  await (Object.values(annotations).includes(null) ? write : ifRoom(write));
}

/**
 * If the node belongs to the machine, or its annotation names the group, returns whether the group has control planes;
 * otherwise returns undefined. The annotation is enough, because a node outlives its instance for a while.
 */
export async function readOwnership(
  kube: Cluster,
  { pool, machine, node }: MemberRef & { node: string },
): Promise<{ rollsControlPlanes: boolean } | undefined> {
  const asked = await readAsked(kube, pool);
  if (!asked) return undefined;
  const seen = await seenFor(kube, asked);
  const found = [...seen.nodes.values()].find(({ name }) => name === node);
  const isNamed = groupKeyOf(found?.group ?? "") === groupKeyOf(asked.group.spec.groupId);
  const isOwn = found && (isNamed || nodeIn(seen, machine)?.name === node);
  return isOwn ? { rollsControlPlanes: isOfControlPlane(asked, seen) } : undefined;
}

async function nodeOf(kube: Cluster, { pool, machine }: MemberRef): Promise<GroupNode | undefined> {
  const asked = await readAsked(kube, pool);
  return asked && nodeIn(await seenFor(kube, asked), machine);
}

function seenFor(kube: Cluster, asked: Asked): Promise<CloudSight> {
  return readCloud(kube, asked);
}

function nodeIn({ instances, nodes }: CloudSight, machine: string): GroupNode | undefined {
  const instance = instances.find((each) => memberIdOf(each) === machine);
  return instance && nodes.get(instance.providerId.toLowerCase());
}
