/** Reads the machines of a scaling group: existing, ordered, and pending ones, which are not ordered yet. */
import type { Cluster } from "../../cluster.ts";
import type { Member, PoolRef } from "../../../workflows/contracts/mod.ts";
import { attempting } from "../../kube/status.ts";
import { protectionFor } from "../../policy/protection_for.ts";
import type { Instance } from "../../clouds/driver.ts";
import type { MachineState, MemberRef, Observation } from "../contract.ts";
import { standingFor } from "./control_plane.ts";
import { isAlive, isOf, type Order, type Removal } from "./records.ts";
import {
  isLost,
  memberIdOf,
  memberOfInstance,
  memberOfOrder,
  numberIn,
  type Of,
  orderOfInstance,
  papersOf,
  unusedNumbers,
} from "./member.ts";
import { closedOutside, declaredSize, obsoleteIn, openOrders, orphansOf } from "./size.ts";
import { type Asked, type CloudSight, groupNameOf, needAsked, readAsked, readCloud } from "./sight.ts";
import { askedBy, hashOf } from "../../node_version/version_release.ts";

/** Reads all machines; adds pending machines, which are not ordered yet, but not more than a rollout can need. */
export function observeGroup(kube: Cluster, pool: PoolRef): Promise<Observation> {
  return attempting(`read the machines of ScalingGroup "${groupNameOf(pool)}"`, async () => {
    const asked = await needAsked(kube, pool);
    const { target } = asked;
    if (!target) return { members: [], templateHash: "", counted: new Map() };
    const seen = await readCloud(kube, asked);
    const of = { ...ofAsked(asked, { pool, target }), ...await keptOf(kube, { pool, asked, seen }) };
    const there = membersOf(of, seen);
    const templateHash = hashOf(target);
    const counted = new Map([[templateHash, there.filter((each) => isServing(each, templateHash)).length]]);
    const etcd = await standingFor(kube, asked, seen);
    const members = [...there, ...papersFor(of, { asked, seen, there })];
    return { members, templateHash, counted, ...(etcd ? { etcd } : {}) };
  });
}

function ofAsked({ ledger: { legacies }, version }: Asked, { pool, target }: Pick<Of, "pool" | "target">): Of {
  return { pool, target, legacies, upgraded: askedBy(version).components };
}

/** Returns how the policy treats protected machines; reads the policy only if a machine is protected. */
export async function keptOf(
  kube: Cluster,
  { pool: { namespace, name }, asked, seen }: { pool: PoolRef; asked: Asked; seen: CloudSight },
): Promise<Pick<Of, "kept">> {
  if (!seen.instances.some(({ isProtected }) => isProtected)) return {};
  const labels = asked.group.metadata.labels ?? {};
  const kept = await protectionFor(kube, { metadata: { namespace, name, labels } });
  return kept === "Replace" ? {} : { kept };
}

/**
 * Reads one machine as the rollout planner sees it; undefined if it was deleted, or is not ordered yet and not needed.
 */
export function readGroupMember(kube: Cluster, { pool, machine }: MemberRef): Promise<Member | undefined> {
  return attempting(`read machine "${machine}"`, async () => {
    if (!await readAsked(kube, pool)) return undefined;
    return (await observeGroup(kube, pool)).members.find(({ id }) => id === machine);
  });
}

/** Reads the progress of one machine; undefined if it is not ordered yet or was deleted. */
export function readGroupState(kube: Cluster, { pool, machine }: MemberRef): Promise<MachineState | undefined> {
  return attempting(`read machine "${machine}"`, async () => {
    const asked = await readAsked(kube, pool);
    if (!asked?.target) return undefined;
    const of = ofAsked(asked, { pool, target: asked.target });
    return stateIn(await readCloud(kube, asked), of, machine);
  });
}

function stateIn(seen: CloudSight, of: Of, machine: string): MachineState | undefined {
  const instance = seen.instances.find((each) => memberIdOf(each) === machine);
  const order = instance ? orderOfInstance(seen.records.orders, instance) : orderNamed(seen, machine);
  const object = { kind: "PendingNode", namespace: "", name: order?.record.metadata.name ?? machine };
  if (!instance) {
    if (!order || isLost(order, seen.at)) return order && leavingState(machine, object);
    const { trouble } = order;
    const ordered = order.providerId !== "";
    return {
      name: machine,
      leaving: false,
      ordered,
      ...(trouble ? { trouble } : {}),
      addresses: [],
      ...unjoined,
      object,
    };
  }
  const { phase, node, image } = memberOfInstance(of, seen, instance);
  const seenNode = seen.nodes.get(instance.providerId.toLowerCase());
  // A new node gets the annotation with its components from its JoiningNode, after it has registered.
  const isUnannounced = order !== undefined && of.target.components !== "" && seenNode?.components === "";
  const removal = seen.records.removals.find(({ member }) => member === machine);
  const trouble = instance.trouble || (instance.state === "Failed" ? "the cloud reports that the instance failed" : "");
  return {
    ...{ name: machine, leaving: phase === "Leaving", ordered: true, addresses: instance.addresses, image, object },
    ...(trouble ? { trouble } : {}),
    ...(instance.state === "Failed" ? { failed: true as const } : {}),
    ...(node ? { node } : {}),
    joined: !order || (seenNode !== undefined && !isUnannounced),
    ...(isUnannounced
      ? { lacks: `node "${seenNode?.name}" does not have the annotation that names its Kubernetes components` }
      : {}),
    finalizers: order?.record.metadata.finalizers ?? [],
    ...(instance.waitsFor && removal ? { delayed: delayOf(instance.waitsFor, removal) } : {}),
  };
}

/** Milliseconds that the cloud gets for the removal itself, after the wait in `waitsFor`. */
const endMs = 300_000;

/** Returns the delay of a removal, counted from its record, which was created before the cloud began to wait. */
function delayOf(
  { what, longestMs }: NonNullable<Instance["waitsFor"]>,
  { record: { metadata } }: Removal,
): NonNullable<MachineState["delayed"]> {
  return { says: what, until: Date.parse(metadata.creationTimestamp) + longestMs + endMs };
}

const unjoined = { joined: false, image: "", finalizers: [] as string[] };

function leavingState(name: string, object: MachineState["object"]): MachineState {
  return { name, leaving: true, ordered: true, addresses: [], ...unjoined, object };
}

function orderNamed({ records }: CloudSight, machine: string): Order | undefined {
  return records.orders.find(({ id }) => id === machine);
}

function membersOf(of: Of, seen: CloudSight): Member[] {
  const { instances, records, at } = seen;
  const surplus = surplusIn(seen);
  for (const each of obsoleteIn(seen)) surplus.add(each);
  const shown = instances.map((instance) => {
    const member = memberOfInstance(of, seen, instance);
    return surplus.has(instance) ? { ...member, templateHash: "" } : member;
  });
  const open = openOrders(seen);
  const alive = new Set(instances.filter((each) => isAlive(each)).map(memberIdOf));
  const isShown = ({ id, providerId }: Order): boolean =>
    instances.some((each) => each.token === id || isOf(providerId, each));
  // If an ordered machine is lost, the group has created another machine by itself, so the lost one is not shown. The
  // group stays one larger until the machine that the order replaces is removed.
  const isMadeUpFor = (order: Order): boolean =>
    isLost(order, at) && (open.includes(order) || (order.isVanished && alive.has(order.donor ?? "")));
  const unseen = records.orders.filter((order) => !isShown(order) && !isMadeUpFor(order));
  const gone = records.removals.filter(({ member }) => !shown.some(({ id }) => id === member));
  const members = [
    ...shown,
    ...unseen.map((order) => memberOfOrder(of, order, at)),
    ...gone.map(({ member, record }) => goneMember(member, record.metadata.creationTimestamp)),
  ];
  const given = new Set(members.map(({ id }) => id));
  // A replaced machine that was deleted outside of Ostler is shown until its removal has ended the order.
  const ended = closedOutside(seen).filter(({ donor = "" }) => !given.has(donor));
  const donors = new Map(ended.map(({ donor = "", since }) => [donor, since]));
  return [...members, ...[...donors].map(([donor, since]) => goneMember(donor, since))];
}

/**
 * Returns surplus instances, which count as outdated. If the machine that an order replaces was removed outside of
 * Ostler, the group has created another for it, so one instance is surplus. It is the newest instance without a token
 * that is not older than the order; clocks of clouds and workers differ by less than a minute.
 */
function surplusIn(seen: CloudSight): Set<Instance> {
  const orphans = orphansOf(seen);
  const since = Math.min(...orphans.map((order) => Date.parse(order.since))) - 60_000;
  const made = seen.instances.filter((each) =>
    each.token === undefined && isAlive(each) && Date.parse(each.since) >= since
  );
  return new Set(made.sort((a, b) => Date.parse(b.since) - Date.parse(a.since)).slice(0, orphans.length));
}

/**
 * Returns a machine whose instance the cloud does not show any more, although a record of its removal or of its
 * replacement still exists.
 */
function goneMember(id: string, since: string): Member {
  const unknown = { templateHash: "", image: "", kubelet: "" };
  return { id, ...unknown, phase: "Leaving", since, marked: false, held: true, expendable: false };
}

/**
 * Returns one pending machine for each outdated one, but not more than the number of updated machines that are missing.
 * Returns none while the group has fewer machines than desired, because the group then creates machines itself. Returns
 * none either if the maximum size of the group leaves no room for another.
 */
function papersFor(of: Of, { asked, seen, there }: { asked: Asked; seen: CloudSight; there: Member[] }): Member[] {
  const hash = hashOf(of.target);
  const replicas = declaredSize(seen, asked.ledger);
  const staying = there.filter(({ phase }) => phase !== "Leaving");
  const updated = staying.filter(({ templateHash }) => templateHash === hash).length;
  const old = staying.length - updated;
  const most = Math.max(0, Math.min(replicas - updated, old));
  const hasRoom = seen.cloud.max > replicas && staying.length >= replicas;
  const group = groupNameOf(of.pool);
  const given = new Set(there.map(({ id }) => id));
  const tokens = unusedNumbers(asked, seen.instances);
  // Counts orders with a number that the ledger does not show as used yet, because the pending machines with these
  // numbers are filtered out below.
  const passed = [...given].flatMap((id) => numberIn(group, id) ?? []).filter((number) => number >= tokens.next).length;
  const papers = hasRoom ? papersOf(of, { group, tokens, most: most + passed }) : [];
  return papers.filter(({ id }) => !given.has(id)).slice(0, most);
}

function isServing({ phase, templateHash }: Member, hash: string): boolean {
  return phase === "Ready" && templateHash === hash;
}
