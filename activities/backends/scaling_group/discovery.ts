/**
 * Creates a ScalingGroup for each group of the cloud, and does not change what users set on it. A ScalingGroup is
 * deleted only after three complete discoveries without its group, because clouds leave out what they cannot list at
 * that moment. A discovery without any group deletes none.
 */
import type { Cluster } from "../../cluster.ts";
import { createHash } from "node:crypto";
import type { DiscoveryResult } from "../../../workflows/contracts/mod.ts";
import { type CloudGroup, type Driver, groupKeyOf } from "../../clouds/driver.ts";
import {
  createClusterObject,
  deleteClusterObject,
  listClusterObjects,
  patchClusterObject,
  readClusterObject,
} from "../../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../../kube/status.ts";
import { type ScalingGroup, scalingGroups } from "../../kube/update_kinds.ts";
import { nodesByInstance } from "../../node_version/group_nodes.ts";
import { failureTypeOf } from "../../failures.ts";
import { endLeftKeeps } from "./autoscaling.ts";
import { ledgerOf } from "./ledger.ts";
import { allOf, endOldRebalancingHolds } from "./rebalancing.ts";

/**
 * Annotation of a ScalingGroup: the number of complete discoveries that did not find its group, and the time of the
 * last of them (epoch ms).
 */
const missedAnnotation = "ostler.dev/missed-by-looks";
const looksUntilGone = 3;
/** Discoveries within this time (ms) count as one, because a retry repeats a discovery whose result was lost. */
const apartMs = 300_000;
const longestName = 200;

/** The spec with which the Constellation node operator creates a ScalingGroup. */
const first = { nodeImage: "constellation-version", min: 1, max: 10, autoscaling: false };

type Role = "Worker" | "ControlPlane";

/**
 * Runs one discovery at `now` (epoch ms). If the cloud or the API server refuses a request about one group, the
 * discovery still handles all other groups before it fails.
 */
export function discoverScalingGroups(kube: Cluster, now: number): Promise<DiscoveryResult> {
  return attempting("discover scaling groups", async () => {
    const driver = await kube.cloud.driver();
    const result: DiscoveryResult = { groups: 0, made: [], removed: [] };
    // Old holds against rebalancing and scale-down are ended first, because nothing else would end them if a later step
    // failed.
    await allOf([
      async () => await endOldRebalancingHolds(kube, await listClusterObjects(kube, scalingGroups), now),
      async () => await endLeftKeeps(kube, await listClusterObjects(kube, scalingGroups)),
      () => compare(kube, { driver, now, result }),
    ], (step) => step());
    return result;
  });
}

async function compare(
  kube: Cluster,
  { driver, now, result }: { driver: Driver; now: number; result: DiscoveryResult },
): Promise<void> {
  const { groups, isComplete } = await driver.groups();
  // ScalingGroups are read after the list of groups, which may take minutes in which a user can create a ScalingGroup.
  const objects = await listClusterObjects(kube, scalingGroups);
  result.groups = groups.length;
  const found = new Map(groups.map((group) => [groupKeyOf(group.id), group]));
  const known = new Map(objects.map((object) => [groupKeyOf(object.spec.groupId), object]));
  // An empty list proves nothing: credentials of another account, or a wrong place or tag, have the same answer.
  const isProof = isComplete && groups.length > 0;
  const missing = isProof ? objects.filter(({ spec }) => !found.has(groupKeyOf(spec.groupId))) : [];
  await allOf([
    ...[...found].map(([key, group]) => () =>
      attempting(`create or update the ScalingGroup of group "${group.id}"`, async () => {
        const object = known.get(key);
        if (object) await keep(kube, object, group);
        else result.made.push(...await makeIfClear(kube, driver, group));
      })
    ),
    ...missing.map((object) => async () => {
      if (await miss(kube, object, now) === "Removed") result.removed.push(object.metadata.name);
    }),
    () => deleteSpareTemplates(driver, objects),
  ], (step) => step());
}

/**
 * Deletes old boot templates, except those that a group boots or can be rolled back to. If the cloud denies this, all
 * stay.
 */
async function deleteSpareTemplates(driver: Driver, objects: readonly ScalingGroup[]): Promise<void> {
  const keep = objects.map(ledgerOf).flatMap(({ boots, former, pin }) =>
    [boots, former, pin?.boots].flatMap((each) => each?.template ?? [])
  );
  await driver.deleteSpareTemplates?.({ keep }).catch((error: unknown) => {
    if (!["AccessDenied", "CloudRefused"].includes(failureTypeOf(error))) throw error;
  });
}

/**
 * Creates the ScalingGroup of a cloud group once the cloud or a node shows the group's role, because until then the
 * group may have control planes. Returns the name of the ScalingGroup, or an empty list if it was not created.
 */
async function makeIfClear(kube: Cluster, driver: Driver, group: CloudGroup): Promise<string[]> {
  const role = group.role || await roleByNodes(kube, driver, group.id);
  return role === undefined ? [] : await make(kube, group, role);
}

async function roleByNodes(kube: Cluster, driver: Driver, group: string): Promise<Role | undefined> {
  const [instances, { nodes }] = await Promise.all([driver.instances(group), nodesByInstance(kube)]);
  const own = instances.flatMap(({ providerId }) => nodes.get(providerId.toLowerCase()) ?? []);
  if (own.some(({ isControlPlane }) => isControlPlane)) return "ControlPlane";
  return own.length > 0 ? "Worker" : undefined;
}

/**
 * Creates the ScalingGroup and returns its name; returns an empty list if a user has just created a ScalingGroup for
 * the group.
 */
async function make(kube: Cluster, group: CloudGroup, role: Role): Promise<string[]> {
  const { id, name: nodeGroupName, autoscalerName: autoscalerGroupName } = group;
  const spec = { ...first, groupId: id, nodeGroupName, autoscalerGroupName, role };
  const name = nameFor(group);
  try {
    await createClusterObject(kube, scalingGroups, { kind: "ScalingGroup", metadata: { name }, spec });
    return [name];
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
  }
  const standing = await ifFound(readClusterObject(kube, scalingGroups, name));
  if (standing && groupKeyOf(standing.spec.groupId) === groupKeyOf(id)) return [];
  // The ScalingGroup of another group has the name, so a hash of the ID makes the name unique.
  const other = `${name}-${createHash("sha256").update(groupKeyOf(id)).digest("hex").slice(0, 8)}`;
  await createClusterObject(kube, scalingGroups, { kind: "ScalingGroup", metadata: { name: other }, spec }).catch(
    (error: unknown) => {
      if (statusOf(error) !== 409) throw error; // 409: a previous attempt created it
    },
  );
  return [other];
}

/** Returns the name of a group's ScalingGroup, which does not depend on upper or lower case in the cloud's answer. */
function nameFor({ name, id }: CloudGroup): string {
  const last = groupKeyOf(id).split("/").at(-1) ?? "";
  const plain = (name || last).toLowerCase().replaceAll(/[^a-z0-9.-]+/g, "-").slice(0, longestName);
  // The API server accepts only names in which letters or digits are on both sides of each dot.
  const dotted = plain.replaceAll(/[^a-z0-9]*\.[^a-z0-9]*/g, ".");
  return dotted.replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, "") || "group";
}

/**
 * Updates only the display name of a ScalingGroup, and removes the count of discoveries that did not find its group.
 */
async function keep(kube: Cluster, { metadata, spec }: ScalingGroup, { name }: CloudGroup): Promise<void> {
  const wasMissed = metadata.annotations?.[missedAnnotation] !== undefined;
  if (!wasMissed && spec.nodeGroupName === name) return;
  const body = {
    metadata: { uid: metadata.uid, annotations: { [missedAnnotation]: null } },
    spec: { nodeGroupName: name },
  };
  await ifFound(patchClusterObject(kube, scalingGroups, { name: metadata.name, body }));
}

async function miss(
  kube: Cluster,
  { metadata: { name, uid, annotations = {} } }: ScalingGroup,
  now: number,
): Promise<"Missed" | "Removed"> {
  const [, count = "0", at = "0"] = /^(\d{1,3}) (\d{1,15})$/.exec(annotations[missedAnnotation] ?? "") ?? [];
  if (now - Number(at) < apartMs) return "Missed";
  const missed = Number(count) + 1;
  if (missed >= looksUntilGone) {
    await ifFound(deleteClusterObject(kube, scalingGroups, { name, uid }));
    return "Removed";
  }
  const body = { metadata: { uid, annotations: { [missedAnnotation]: `${missed} ${now}` } } };
  await ifFound(patchClusterObject(kube, scalingGroups, { name, body }));
  return "Missed";
}
