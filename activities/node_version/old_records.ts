/** Sees through the PendingNodes that the operator of before left: those of ours are their groups' affair. */
import { cloudOf } from "../clouds/cloud_of.ts";
import { groupKeyOf } from "../clouds/driver.ts";
import { deleteRecord, isOwn } from "../backends/scaling_group/records.ts";
import type { GroupNode } from "../backends/scaling_group/group_nodes.ts";
import type { Kube } from "../kube/client.ts";
import { patchClusterObject } from "../kube/cluster_objects.ts";
import { ifFound } from "../kube/status.ts";
import { type PendingNode, pendingNodes } from "../kube/update_kinds.ts";
import { type NodeTarget, same } from "./classify.ts";
import { type PendingVerdict, verdictOn } from "./goals.ts";
import type { GroupFleet } from "./nodes_of_groups.ts";

/** It has no mark of ours: what ours says of a machine is more than fits its fields. */
export function isOld(record: PendingNode): boolean {
  return !isOwn(record);
}

/** One step with each; gives those that are left. */
export async function tendOldRecords(
  kube: Kube,
  records: readonly PendingNode[],
  { fleet, target, now, mayTake }: {
    fleet: GroupFleet;
    target: NodeTarget;
    now: number;
    /** Ids of groups of workers. */
    mayTake: (group: string) => boolean;
  },
): Promise<PendingNode[]> {
  const left: PendingNode[] = [];
  for (const record of records) {
    const verdict = verdictFor(record, { fleet, target, now });
    if (verdict.step === "Gone" || verdict.step === "Joined") await deleteRecord(kube, record);
    else left.push(record);
    if (verdict.step === "Remove" && mayTake(record.spec.groupID)) await remove(kube, record, fleet);
  }
  return left;
}

function verdictFor(
  { metadata, spec, status }: PendingNode,
  { fleet, target, now }: { fleet: GroupFleet; target: NodeTarget; now: number },
): PendingVerdict {
  const instance = fleet.instances.find(({ providerId }) => same(providerId, spec.providerID));
  const node = fleet.nodes.find(({ name }) => name === spec.nodeName);
  return verdictOn({
    ...{ goal: spec.goal ?? "Join", since: Date.parse(metadata.creationTimestamp) },
    deadline: spec.deadline ? Date.parse(spec.deadline) : undefined,
    ...{ state: instance?.state ?? "Absent", wasSeen: status?.cspState !== undefined, hasNode: node !== undefined },
    isWanted: node !== undefined && isWanted(node, target),
  }, now);
}

function isWanted({ image, components }: GroupNode, target: NodeTarget): boolean {
  return same(image, target.image) && same(components, target.components);
}

/** K4: told again each time, as its goal is Leave from now on. */
async function remove(kube: Kube, { metadata: { name, uid }, spec }: PendingNode, fleet: GroupFleet): Promise<void> {
  // Whoever may write records could name any instance: only those of our groups are removed.
  const isOurs = fleet.instances.some(({ providerId, group, isProtected }) =>
    same(providerId, spec.providerID) && groupKeyOf(group) === groupKeyOf(spec.groupID) && !isProtected
  );
  // The operator deleted a node before its record said Leave: one that serves is taken by no record alone.
  const node = fleet.nodes.find(({ providerId }) => same(providerId, spec.providerID));
  if (node && (node.isReady || node.isControlPlane)) return;
  const driver = await cloudOf(kube);
  if (isOurs) await driver.remove({ group: spec.groupID, providerId: spec.providerID, shrinks: true });
  if (spec.goal === "Leave") return;
  const body = { metadata: { uid }, spec: { goal: "Leave", deadline: null } };
  await ifFound(patchClusterObject(kube, pendingNodes, { name, body }));
}
