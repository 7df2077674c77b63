/** Writes on the node of a new machine what it takes over from the old node, before the machine counts as joined. */
import type { Cluster } from "../../cluster.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Instance } from "../../clouds/driver.ts";
import { unavailable } from "../../failures.ts";
import { asMergePatch, type Kube } from "../../kube/client.ts";
import { patchClusterObject, patchClusterStatus, readClusterObject } from "../../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../../kube/status.ts";
import { pendingNodes } from "../../kube/update_kinds.ts";
import { unheldAutoscaler } from "../../kube/seen_autoscaler.ts";
import { ensureNodeKept } from "../../node/cordon.ts";
import { marks } from "../../node_version/marks.ts";
import type { MemberRef } from "../contract.ts";
import { marksOf } from "./boots.ts";
import { heirAnnotation } from "../../node_version/group_nodes.ts";
import { joinEtcd } from "./control_plane.ts";
import { bearing, handOver, type Inheritance, keptFrom } from "./inheritance.ts";
import { type Legacy, legacyFor, patchLedger, written } from "./ledger.ts";
import { memberIdOf, orderOfInstance } from "./member.ts";
import { deleteRecord, type Order, orderOf, recordAnnotations } from "./records.ts";
import { type Asked, readAsked, readCloud } from "./sight.ts";

/**
 * Writes image, group and inheritance (labels, annotations and taints of the old node) on a machine's node, and records
 * that the machine joined. If etcd is not ready for the machine, writes nothing and returns what the machine lacks, as
 * words; otherwise returns undefined.
 */
export function welcomeMember(kube: Cluster, { pool, machine }: MemberRef): Promise<string | undefined> {
  return attempting(`write image and group on the node of machine "${machine}"`, async () => {
    const asked = await readAsked(kube, pool);
    if (!asked) return undefined;
    const seen = await readCloud(kube, asked);
    const instance = seen.instances.find((each) => memberIdOf(each) === machine);
    const node = instance && seen.nodes.get(instance.providerId.toLowerCase());
    if (!instance || !node) return undefined;
    const lacks = await joinEtcd(kube, { asked, seen }, instance);
    if (lacks) return lacks;
    const order = orderOfInstance(seen.records.orders, instance);
    const legacy = order
      ? undefined
      : node.heirOf === ""
      ? await claimed(kube, asked, { machine, since: instance.since })
      : undefined;
    const kept = keptFrom(order ? keptOf(order) : legacy?.inheritance);
    const from = order?.donor ?? legacy?.from;
    await write(kube, node.name, {
      kept,
      marks: { ...marksOf(instance.image, asked.group.spec.groupId), ...heirOf(from) },
    });
    // The pods are still on the old node, so an autoscaler could remove the new, empty node; an annotation of the node
    // prevents that.
    if (
      order?.donor !== undefined && !order.isDone &&
      (await unheldAutoscaler(kube, () => Promise.resolve(asked.group))) !== ""
    ) {
      await ensureNodeKept(kube, { pool, node: node.name });
    }
    if (order) await noteIn(kube, { order, instance, node: node.name });
    if (legacy) await settle(kube, pool, machine);
    return undefined;
  });
}

function keptOf({ record }: Order): unknown {
  try {
    return JSON.parse(record.metadata.annotations?.[recordAnnotations.inheritance] ?? "{}");
  } catch {
    return undefined; // not JSON: users can edit the annotation
  }
}

/**
 * Assigns a legacy (the inheritance of a deleted machine) to the new machine before anything is written, so that the
 * next attempt uses the same one. Returns undefined if no legacy is left.
 */
async function claimed(
  kube: Kube,
  { group: { metadata }, ledger }: Asked,
  { machine, since }: { machine: string; since: string },
): Promise<Legacy | undefined> {
  const legacy = legacyFor(ledger.legacies, machine, since);
  if (!legacy || legacy.to === machine) return legacy;
  const legacies = ledger.legacies.map((each) => each === legacy ? { ...each, to: machine } : each);
  await patchLedger(kube, metadata, written({ legacies }));
  return legacy;
}

/** Removes the record of the legacy that a machine has taken over. */
async function settle(kube: Kube, pool: PoolRef, machine: string): Promise<void> {
  const asked = await readAsked(kube, pool);
  const legacies = asked?.ledger.legacies.filter(({ to }) => to !== machine) ?? [];
  if (!asked || legacies.length === asked.ledger.legacies.length) return;
  await patchLedger(kube, asked.group.metadata, written({ legacies: legacies.length > 0 ? legacies : null }));
}

async function write(
  kube: Kube,
  name: string,
  { kept, marks: own }: { kept: Inheritance; marks: Record<string, string> },
): Promise<void> {
  const node = await ifFound(kube.core.readNode({ name }));
  if (!node) return;
  const { labels, annotations, taints } = handOver(
    { ...kept, annotations: { ...kept.annotations, ...own } },
    bearing(node),
  );
  // Removes the annotation in which the Constellation node operator named the old node, because Ostler's order decides
  // which node is deleted.
  const stale = node.metadata?.annotations?.[marks.donor] === undefined ? {} : { [marks.donor]: null };
  const all = { ...annotations, ...stale };
  if (Object.keys({ ...labels, ...all }).length === 0 && !taints) return;
  const { uid, resourceVersion } = node.metadata ?? {};
  const body = {
    metadata: { uid, resourceVersion, labels, annotations: all },
    ...(taints ? { spec: { taints } } : {}),
  };
  try {
    await kube.core.patchNode({ name, body }, asMergePatch);
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    throw unavailable(`Failed to update node "${name}": conflict, the Node was modified`);
  }
}

function heirOf(member: string | undefined): Record<string, string> {
  return member === undefined ? {} : { [heirAnnotation]: member };
}

/**
 * Records that a new machine has joined. The record of the order stays until the old machine is deleted; if there is no
 * old machine, or if it was removed before the new machine joined, the record is deleted now.
 */
async function noteIn(
  kube: Kube,
  { order, instance, node }: { order: Order; instance: Instance; node: string },
): Promise<void> {
  if (order.donor === undefined || order.isSettled) return await deleteRecord(kube, order.record);
  if (order.isDone) return;
  const spec = { nodeName: node, providerID: instance.providerId };
  const { name } = order.record.metadata;
  await ifFound(
    patchClusterObject(kube, pendingNodes, { name, body: { metadata: { uid: order.uid }, spec } }),
  );
  await ifFound(
    patchClusterStatus(kube, pendingNodes, { name, status: { cspState: "Ready", reachedGoal: true } }),
  );
  // The replaced machine may have been deleted meanwhile, by a run that read this record before the record showed the
  // new machine as joined.
  const record = await ifFound(readClusterObject(kube, pendingNodes, name));
  if (record && orderOf(record).isSettled) await deleteRecord(kube, record);
}
