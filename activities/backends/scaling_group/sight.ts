/** One look at a scaling group: what is asked of it, what its cloud has, and what was written down about both. */
import type { Cluster } from "../../cluster.ts";
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { CloudGroup, Driver, Instance } from "../../clouds/driver.ts";
import { moot, refused } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import { readClusterObject } from "../../kube/resources.ts";
import { ifFound } from "../../kube/status.ts";
import { type NodeVersion, nodeVersions, type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";
import { type GroupNode, nodesByInstance } from "../../node_version/group_nodes.ts";
import { type Ledger, ledgerOf } from "./ledger.ts";
import { readRecords, type Records } from "./records.ts";
import type { Target } from "../../node_version/version_release.ts";
import { targetOf } from "./target.ts";
import type { Subject } from "../../status/events.ts";

/** Namespace of Rollouts and policies of groups, as ScalingGroups have no namespace. */
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

/** The object of a pool, and what it follows. */
export interface Asked {
  group: ScalingGroup;
  version: NodeVersion;
  ledger: Ledger;
  /** Undefined where it follows nothing yet. */
  target: Target | undefined;
}

/** Undefined for a group that is gone; refused where its NodeVersion is not there. */
export async function readAsked(kube: Kube, pool: PoolRef): Promise<Asked | undefined> {
  const name = groupNameOf(pool);
  const group = await ifFound(readClusterObject(kube, scalingGroups, name));
  if (!group) return undefined;
  const version = await ifFound(readClusterObject(kube, nodeVersions, group.spec.nodeImage));
  if (!version) {
    const state = `its NodeVersion "${group.spec.nodeImage}" does not exist`;
    throw refused("ObjectInvalid", `Failed to roll ScalingGroup "${name}": ${state}`);
  }
  return { group, version, ledger: ledgerOf(group), target: targetOf(group, version) };
}

/** The same; moot for one that is gone. */
export async function needAsked(kube: Kube, pool: PoolRef): Promise<Asked> {
  const asked = await readAsked(kube, pool);
  if (!asked) {
    throw moot("GenerationStale", `Failed to read ScalingGroup "${groupNameOf(pool)}": the ScalingGroup was deleted`);
  }
  return asked;
}

/** When a look was (epoch ms), and for how long its cloud may show nothing of what it makes (ms). */
export interface Moment {
  now: number;
  lagMs: number;
}

/** The group as its cloud has it now. */
export interface CloudSight {
  cloud: CloudGroup;
  instances: Instance[];
  records: Records;
  /** By provider id in lower case. */
  nodes: Map<string, GroupNode>;
  at: Moment;
  /** Records were written while the cloud was looked at: which of its answers already follow from them nobody can tell. */
  isMoving: boolean;
}

const usualLagMs = 120_000;

/** Reads all that is there, once for all who ask at a time; records before and after the cloud, as it is asked by them. */
export async function readCloud(kube: Cluster, { group: { metadata, spec } }: Asked): Promise<CloudSight> {
  const driver = await kube.cloud.driver();
  const before = await readRecords(kube, spec.groupId);
  const [instances, nodes] = await Promise.all([readInstances(kube, driver, spec.groupId), nodesByInstance(kube)]);
  // After its machines: the size knows of each that is shown to go, or it would be taken for one too large.
  const cloud = await kube.cache.read(`group ${spec.groupId}`, () => driver.group(spec.groupId));
  const records = await readRecords(kube, spec.groupId);
  if (!cloud) {
    throw refused(
      "CloudRefused",
      `Failed to read ScalingGroup "${metadata.name}": ${driver.title} does not have group "${spec.groupId}"`,
    );
  }
  const at = { now: Date.now(), lagMs: driver.lagMs ?? usualLagMs };
  return { cloud, instances, records, nodes, at, isMoving: identityOf(before) !== identityOf(records) };
}

/** All instances of a group, once for all who ask at a time. */
export function readInstances(kube: Cluster, driver: Driver, groupId: string): Promise<Instance[]> {
  return kube.cache.read(`instances of ${groupId}`, () => driver.instances(groupId));
}

/** What of records decides about the size of a group. */
function identityOf({ orders, removals }: Records): string {
  const all = [
    ...orders.map(({ id, goal, providerId, donor }) => [id, goal, providerId, donor]),
    ...removals.map(({ member, providerId, shrinks }) => [member, providerId, shrinks]),
  ];
  return JSON.stringify(all.map((each) => JSON.stringify(each)).sort());
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
