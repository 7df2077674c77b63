/** One snapshot of a scaling group: its desired state, its instances in the cloud, and its records. */
import type { Cluster } from "../../cluster.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { CloudGroup, Driver, Instance } from "../../clouds/driver.ts";
import { moot, refused } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import { readClusterObject } from "../../kube/resources.ts";
import { ifFound } from "../../kube/status.ts";
import { NodeVersion, nodeVersions, type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";
import { type GroupNode, nodesByInstance } from "../../node_version/group_nodes.ts";
import { type Ledger, ledgerOf } from "./ledger.ts";
import { readRecords, type Records } from "./records.ts";
import type { Target } from "../../node_version/version_release.ts";
import { targetOf } from "./target.ts";
import type { Subject } from "../../status/events.ts";

/** Namespace of the Rollouts and policies of groups, because ScalingGroups have no namespace. */
const groupsNamespace = "kube-system";
const prefix = "scaling-group.";

/** Returns the pool of a ScalingGroup, as `workflows/commands/start_options.ts` does. */
export function poolOfGroup(name: string): PoolRef {
  return { kind: "ScalingGroup", namespace: groupsNamespace, name: `${prefix}${name}` };
}

/** Returns the name of a pool's ScalingGroup. */
export function groupNameOf({ name }: PoolRef): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** The ScalingGroup of a pool, with its NodeVersion. */
export interface Asked {
  group: ScalingGroup;
  version: NodeVersion;
  ledger: Ledger;
  /**
   * Image and components that the group's machines must run; undefined while the NodeVersion is not released to the
   * group and no boot template is recorded.
   */
  target: Target | undefined;
}

/** Reads a group; undefined if it was deleted. Throws Refused if it has no NodeVersion and is not being deleted. */
export async function readAsked(kube: Kube, pool: PoolRef): Promise<Asked | undefined> {
  const name = groupNameOf(pool);
  const group = await ifFound(readClusterObject(kube, scalingGroups, name));
  if (!group) return undefined;
  const { nodeImage } = group.spec;
  const found = await ifFound(readClusterObject(kube, nodeVersions, nodeImage));
  const version = found ?? (group.metadata.deletionTimestamp ? absent(nodeImage) : undefined);
  if (!version) {
    const state = `its NodeVersion "${nodeImage}" does not exist`;
    throw refused("ObjectInvalid", `Failed to roll out ScalingGroup "${name}": ${state}`);
  }
  return { group, version, ledger: ledgerOf(group), target: targetOf(group, version) };
}

/**
 * Returns an empty NodeVersion in place of the missing NodeVersion of a group that is being deleted: only the finalizer
 * of such a group remains to be removed.
 */
function absent(name: string): NodeVersion {
  return NodeVersion.parse({ metadata: { name, uid: "", creationTimestamp: new Date(0) } });
}

/** Reads a group. Throws Moot if it was deleted. */
export async function needAsked(kube: Kube, pool: PoolRef): Promise<Asked> {
  const asked = await readAsked(kube, pool);
  if (!asked) {
    throw moot("GenerationStale", `Failed to read ScalingGroup "${groupNameOf(pool)}": the ScalingGroup was deleted`);
  }
  return asked;
}

/** The time of a snapshot (epoch ms), and what the cloud may not show yet. */
export interface Moment {
  now: number;
  /** Milliseconds for which the cloud may not show a new instance. */
  lagMs: number;
  /**
   * Returns whether an order with this record of attempts (journal) may have an instance that does not have its token
   * yet.
   */
  isOpen?: (journal: string) => boolean;
}

/** The group as its cloud reports it. */
export interface CloudSight {
  cloud: CloudGroup;
  instances: Instance[];
  records: Records;
  /** The group's nodes, by provider ID in lower case. */
  nodes: Map<string, GroupNode>;
  at: Moment;
  /** Number of records that changed during the read, so that the answers of the cloud may or may not include them. */
  moved: number;
}

const usualLagMs = 120_000;

/**
 * Reads the group in its cloud, once for concurrent callers. Reads the records before and after that, to detect
 * changes.
 */
export async function readCloud(kube: Cluster, { group: { metadata, spec } }: Asked): Promise<CloudSight> {
  const driver = await kube.cloud.driver();
  const before = await readRecords(kube, spec.groupId);
  const [instances, { nodes, twins }] = await Promise.all([
    readInstances(kube, driver, spec.groupId),
    nodesByInstance(kube),
  ]);
  refuseTwins(metadata.name, instances, twins);
  // The group is read after its instances, because a size that was read before can be out of date for them.
  const cloud = await kube.cache.read(`group ${spec.groupId}`, () => driver.group(spec.groupId));
  const records = await readRecords(kube, spec.groupId);
  if (!cloud) {
    throw refused(
      "CloudRefused",
      `Failed to read ScalingGroup "${metadata.name}": ${driver.title} does not have group "${spec.groupId}"`,
    );
  }
  const { lagMs = usualLagMs, attempts } = driver;
  const at = { now: Date.now(), lagMs, ...(attempts ? { isOpen: attempts.isOpen } : {}) };
  return { cloud, instances, records, nodes, at, moved: changesBetween(before, records) };
}

// Throws Refused if two nodes have the provider ID of one machine, because Ostler could drain or repair the wrong one.
function refuseTwins(group: string, instances: readonly Instance[], twins: ReadonlyMap<string, string[]>): void {
  for (const { providerId } of instances) {
    const names = twins.get(providerId.toLowerCase());
    if (!names) continue;
    const nodes = names.map((name) => `"${name}"`).join(" and ");
    const state =
      `nodes ${nodes} have the same provider ID "${providerId}"; delete the Node whose machine does not exist`;
    throw refused("ObjectInvalid", `Failed to read ScalingGroup "${group}": ${state}`);
  }
}

/** Reads all instances of a group, once for concurrent callers. */
export function readInstances(kube: Cluster, driver: Driver, groupId: string): Promise<Instance[]> {
  return kube.cache.read(`instances of ${groupId}`, () => driver.instances(groupId));
}

/** Returns the number of records that differ in the fields that the size of a group depends on. */
function changesBetween(before: Records, after: Records): number {
  const [old, now] = [factsIn(before), factsIn(after)];
  return [...new Set([...old.keys(), ...now.keys()])].filter((record) => old.get(record) !== now.get(record)).length;
}

function factsIn({ orders, removals }: Records): Map<string, string> {
  const all: [uid: string, facts: unknown[]][] = [
    ...orders.map(({ uid, ...each }): [string, unknown[]] => [uid, [each.goal, each.providerId, each.donor]]),
    ...removals.map((each): [string, unknown[]] => [each.record.metadata.uid, [each.providerId, each.shrinks]]),
  ];
  return new Map(all.map(([uid, facts]) => [uid, JSON.stringify(facts)]));
}

const object = { apiVersion: "update.edgeless.systems/v1alpha1", kind: "ScalingGroup" };

/** Returns the object that a group's Rollout and Events are about; undefined if it was deleted. */
export async function readSubject(kube: Kube, pool: PoolRef): Promise<Subject | undefined> {
  const group = await ifFound(readClusterObject(kube, scalingGroups, groupNameOf(pool)));
  return group && subjectOfGroup(group);
}

/** Returns the object of Events about a group, which has no namespace. */
export function subjectOfGroup({ metadata: { name, uid } }: Pick<ScalingGroup, "metadata">): Subject {
  return { namespace: "", name, uid, object };
}
