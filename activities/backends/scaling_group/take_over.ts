/**
 * Takes over the replacements that the Constellation node operator left half done: the new machine exists, and the old
 * one is not removed yet. A record of Ostler names both, so that the new machine does not count towards the declared
 * size.
 */
import type { Cluster } from "../../cluster.ts";
import { failureTypeOf } from "../../failures.ts";
import { asMergePatch } from "../../kube/client.ts";
import { createClusterObject } from "../../kube/resources.ts";
import { ifFound, statusOf } from "../../kube/status.ts";
import { type NodeVersion, type PendingNode, pendingNodes, type ScalingGroup } from "../../kube/update_kinds.ts";
import { groupKeyOf, type Instance } from "../../clouds/driver.ts";
import { type NodeTarget, same } from "../../node_version/classify.ts";
import type { GroupNode } from "../../node_version/group_nodes.ts";
import { marks } from "../../node_version/marks.ts";
import { askedBy, hashOf } from "../../node_version/version_release.ts";
import { inheritanceFor } from "./inheritance.ts";
import { ledgerOf } from "./ledger.ts";
import { memberIdOf } from "./member.ts";
import { pairingOf } from "./old_records.ts";
import { deleteRecord, isAlive, isOf, recordAnnotations, recordFinalizer } from "./records.ts";
import { type Asked, type CloudSight, poolOfGroup, readCloud } from "./sight.ts";
import { targetOf } from "./target.ts";

/** Milliseconds until the deadline in a new machine's record, which only informs users. */
const joinMs = 1_800_000;

interface Left {
  version: NodeVersion;
  /** Groups of workers only, because no mark shows how far etcd was prepared for the replacement of a control plane. */
  groups: readonly ScalingGroup[];
  nodes: readonly GroupNode[];
  /** PendingNodes of the Constellation node operator. */
  records: readonly PendingNode[];
}

/** The PendingNodes that remain after a takeover. */
interface Remaining {
  /** PendingNodes that belong to no pair. */
  single: PendingNode[];
  /** PendingNodes of groups that could not be read: they may belong to a pair, so a later takeover needs them. */
  unread: PendingNode[];
}

/**
 * Records each pair of new and old machine as an order of Ostler, and removes marks whose partner does not exist;
 * returns the PendingNodes that remain.
 */
export async function takeOverPairs(kube: Cluster, { version, groups, nodes, records }: Left): Promise<Remaining> {
  const taken: PendingNode[] = [];
  const unread: PendingNode[] = [];
  for (const group of groups) {
    const isOwn = (id: string): boolean => groupKeyOf(id) === groupKeyOf(group.spec.groupId);
    const own = nodes.filter((node) => isOwn(node.group) && !node.isControlPlane && !node.isObsolete);
    const joins = records.filter(({ spec }) => isOwn(spec.groupID) && spec.goal !== "Leave");
    if (joins.length === 0 && own.every(({ heir, donor }) => heir === "" && donor === "")) continue;
    const found = await takeOver(kube, { version, group, nodes: own, joins });
    if (found) taken.push(...found);
    else unread.push(...records.filter(({ spec }) => isOwn(spec.groupID)));
  }
  return { single: records.filter((record) => !taken.includes(record) && !unread.includes(record)), unread };
}

interface Half {
  version: NodeVersion;
  group: ScalingGroup;
  nodes: readonly GroupNode[];
  joins: readonly PendingNode[];
}

/** Returns the PendingNodes that were taken over; undefined if the group could not be read. */
async function takeOver(kube: Cluster, { version, group, nodes, joins }: Half): Promise<PendingNode[] | undefined> {
  const asked: Asked = { group, version, ledger: ledgerOf(group), target: targetOf(group, version) };
  const seen = await readCloud(kube, asked).catch((error: unknown) => {
    // The workflow of the group reports this refusal.
    if (["CloudRefused", "ObjectInvalid"].includes(failureTypeOf(error))) return undefined;
    throw error;
  });
  if (!seen) return undefined;
  const target = askedBy(version);
  const isPaired = (providerId: string): boolean =>
    nodes.some((node) => same(node.providerId, providerId) && node.donor !== "");
  const mints = joins.filter(({ spec: { providerID } }) => isUseful(seen, providerID) && !isPaired(providerID));
  const isMint = ({ providerId }: GroupNode): boolean => mints.some(({ spec }) => same(spec.providerID, providerId));
  const { pairs, stale } = pairingOf({
    outdated: nodes.filter((node) => node.heir === "" && node.donor === "" && !isMint(node) && !runs(node, target)),
    donors: nodes.filter(({ heir }) => heir !== ""),
    heirs: nodes.filter(({ donor }) => donor !== ""),
    mints: mints.map(({ metadata: { name }, spec: { groupID } }) => ({ name, group: groupID })),
  });
  for (const { node, mark } of stale) await unmark(kube, nodes.find(({ name }) => name === node), mark);
  const taken: PendingNode[] = [];
  for (const pair of pairs) {
    const record = joins.find(({ metadata, spec }) => metadata.name === pair.heir || spec.nodeName === pair.heir);
    const idOf = (name: string): string => nodes.find((node) => node.name === name)?.providerId ?? "";
    const donor = aliveIn(seen, idOf(pair.donor));
    const heir = aliveIn(seen, record?.spec.providerID ?? idOf(pair.heir));
    if (!donor || !heir) continue;
    await ensureRecorded(kube, { asked, seen, donor, heir });
    if (!record) continue;
    await deleteRecord(kube, record);
    taken.push(record);
  }
  return taken;
}

function aliveIn({ instances }: CloudSight, providerId: string): Instance | undefined {
  return instances.find((each) => isAlive(each) && isOf(providerId, each));
}

/**
 * Returns whether an instance exists and has not failed; a failed instance is removed later (`tendOldRecords`), and
 * then its old record.
 */
function isUseful(seen: CloudSight, providerId: string): boolean {
  const found = aliveIn(seen, providerId);
  return found !== undefined && found.state !== "Failed";
}

function runs({ image, components }: GroupNode, target: NodeTarget): boolean {
  return same(image, target.image) && (target.components === "" || same(components, target.components));
}

async function unmark(kube: Cluster, node: GroupNode | undefined, mark: "heir" | "donor"): Promise<void> {
  if (!node) return;
  const body = { metadata: { uid: node.uid, annotations: { [marks[mark]]: null } } };
  await ifFound(kube.core.patchNode({ name: node.name, body }, asMergePatch));
}

/**
 * Writes the record that Ostler would have written if it had ordered the new machine; does nothing if an order already
 * names one of the two machines.
 */
async function ensureRecorded(
  kube: Cluster,
  { asked, seen, donor, heir }: { asked: Asked; seen: CloudSight; donor: Instance; heir: Instance },
): Promise<void> {
  const [id, replaced] = [memberIdOf(heir), memberIdOf(donor)];
  const isTaken = seen.records.orders.some((order) =>
    order.donor !== undefined && (order.id === id || isOf(order.providerId, heir) || order.donor === replaced)
  );
  if (isTaken) return;
  const { metadata: { name, uid }, spec } = asked.group;
  const inheritance = await inheritanceFor(kube, { pool: poolOfGroup(name), asked, seen }, donor);
  const annotations = {
    ...{ [recordAnnotations.machine]: id, [recordAnnotations.donor]: replaced },
    [recordAnnotations.target]: hashOf(askedBy(asked.version)),
    ...(inheritance ? { [recordAnnotations.inheritance]: JSON.stringify(inheritance) } : {}),
  };
  const metadata = {
    // Machines of two groups may have the same ID.
    ...{ name: `${name}.${id}.taken-over`.toLowerCase(), finalizers: [recordFinalizer], annotations },
    ownerReferences: [{ apiVersion: "update.edgeless.systems/v1alpha1", kind: "ScalingGroup", name, uid }],
  };
  const rest = { providerID: heir.providerId, groupID: spec.groupId, nodeName: heir.node, goal: "Join" };
  const deadline = new Date(Date.now() + joinMs).toISOString();
  try {
    await createClusterObject(kube, pendingNodes, { kind: "PendingNode", metadata, spec: { ...rest, deadline } });
  } catch (error) {
    if (statusOf(error) !== 409) throw error; // 409: a previous attempt wrote it
  }
}
