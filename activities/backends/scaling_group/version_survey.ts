/** Surveys a NodeVersion, its groups and all of their nodes, and writes the result into its status. */
import type { Cluster } from "../../cluster.ts";
import { createHash } from "node:crypto";
import type {
  ClusterObject,
  StageSurvey,
  VersionStage,
  VersionSurvey,
  VersionTrouble,
} from "../../../workflows/contracts/mod.ts";
import { holdersOf, takeOverHolds } from "../../autoscaler/hold.ts";
import { askedBy, hashOf, isControlPlane, releasedStage } from "../../node_version/version_release.ts";
import { groupKeyOf } from "../../clouds/driver.ts";
import { olderApiServer } from "../../kubernetes/api_servers.ts";
import { upgradeStateOf } from "../../kubernetes/cancelled_upgrade.ts";
import { minorOf } from "../../kubernetes/versions.ts";
import type { Kube } from "../../kube/client.ts";
import { listClusterObjects, patchClusterStatus, readClusterObject } from "../../kube/resources.ts";
import { abreast, attempting, ifFound } from "../../kube/status.ts";
import {
  autoscalingStrategies,
  type AutoscalingStrategy,
  type NodeVersion,
  nodeVersions,
  type PendingNode,
  pendingNodes,
  type ScalingGroup,
  scalingGroups,
} from "../../kube/update_kinds.ts";
import {
  type Classes,
  classOf,
  hasComponents,
  type NodeClass,
  type NodeTarget,
  same,
} from "../../node_version/classify.ts";
import { showCertificates } from "../../node_version/certificates.ts";
import { readGroupNodes } from "../../node_version/group_nodes.ts";
import { takeOverPairs } from "./take_over.ts";
import { type Completion, completionOf } from "../../node_version/completion.ts";
import { type GroupProgress, readProgress, toldOf } from "./group_progress.ts";
import type { MarkedNode } from "../../node_version/marks.ts";
import { hasOpenOrders, isRebalancingHeld } from "./rebalancing.ts";
import { isOld, readFleet, tendOldRecords } from "./old_records.ts";
import { isDeepStrictEqual } from "node:util";
import { failureTypeOf } from "../../failures.ts";

/**
 * Surveys a NodeVersion and writes its status; returns Gone if it was or is being deleted. Only a worker process of
 * Ostler that may create hands (pods that work on nodes, `docs/explanation/hands.md`) can upgrade Kubernetes of control
 * planes.
 */
export function surveyNodeVersion(
  kube: Cluster,
  { object: { name } }: { object: ClusterObject },
  { hasHands = false }: { hasHands?: boolean } = {},
): Promise<VersionSurvey> {
  return attempting(`survey NodeVersion "${name}"`, async () => {
    const version = await ifFound(readClusterObject(kube, nodeVersions, name));
    if (!version || version.metadata.deletionTimestamp) return { state: "Gone" };
    if (isLeftHalfDone(version)) await takeOverHolds(kube, { holder: name, until: Date.now() + leftHoldMs });
    const [all, strategies, records] = await Promise.all([
      listClusterObjects(kube, scalingGroups),
      listClusterObjects(kube, autoscalingStrategies),
      listClusterObjects(kube, pendingNodes),
    ]);
    const groups = all.filter(({ spec }) => spec.nodeImage === name);
    const target = askedBy(version);
    const progress = await readProgress(kube, groups, version);
    const keys = progress.map(({ groupId }) => groupKeyOf(groupId));
    const { trouble, isRebalancing } = await troubleWith(kube, { version, groups, all });
    const isKnown = !trouble || ["GroupClaimedTwice", "KubernetesTooNew"].includes(trouble.reason);
    const isTooNew = trouble?.reason === "KubernetesTooNew";
    const known = isKnown ? groups.map(({ spec }) => spec.groupId) : [];
    const own = records.filter(({ spec }) => keys.includes(groupKeyOf(spec.groupID)));
    const ofOld = own.filter(isOld);
    const fleet = await readFleet(kube, known, { isAsked: ofOld.length > 0, target, ...idsOf(progress, groups) });
    const workerGroups = groups.filter((group) => !isControlPlane(group));
    const workers = new Set(workerGroups.map(({ spec }) => groupKeyOf(spec.groupId)));
    const mayTake = (group: string): boolean => workers.has(groupKeyOf(group));
    // While nodes are unknown or may not be replaced, no pair is taken over, so the records of pairs must stay.
    const { single, unread } = isKnown && !isTooNew
      ? await takeOverPairs(kube, { version, nodes: fleet.nodes, records: ofOld, groups: workerGroups })
      : { single: [], unread: ofOld };
    const old = [...unread, ...await tendOldRecords(kube, single, { fleet, target, now: Date.now(), mayTake })];
    const pending = [...own.filter((record) => !isOld(record)), ...old];
    const classes = classesOf(fleet.nodes, target, pending);
    const completion = completionOf({ nodes: namesOf(classes), ...movesOf(pending) });
    await showSurvey(kube, version, { classes, pending, completion });
    const controlPlanes = (await readGroupNodes(kube)).filter(({ isControlPlane, group }) =>
      isControlPlane && keys.includes(groupKeyOf(group))
    );
    await showCertificates(kube, version, { controlPlanes, now: Date.now() });
    // A group whose rollout replaces no machines may keep its rebalancing suspended because of its open orders. That
    // suspension does not count, because it ends with these orders and not with the rollout of the NodeVersion.
    const standing = progress.filter(({ isMoving }) => !isMoving).map((each) => each.name);
    const held = groups.filter((group) =>
      isRebalancingHeld(group) && !(standing.includes(group.metadata.name) && hasOpenOrders(group, records))
    );
    const stages = stagesOf(progress, { nodes: fleet.nodes, target, pending });
    // Groups of control planes do not count, because the workflow reads the progress of their stage from `stages`.
    const isDone = isStageDone(stages.Workers);
    const isAllDone = isDone && isStageDone(stages.ControlPlane);
    return survey(version, {
      ...{ trouble, stages, ...autoscalersOf({ strategies, held, isRebalancing }, name) },
      isSettled: completion.isSettled && isDone && !trouble && pending.length === 0,
      ...{ invalid: classes.invalid.length, says: saysOf(completion, { isDone, isAllDone, pending }) },
      ...(hasHands ? { upgrade: upgradeStateOf(version) } : {}),
    });
  });
}

/** Milliseconds for which a hold of the Constellation node operator stays if no workflow run renews it. */
const leftHoldMs = 5_400_000;

/**
 * Returns whether the Constellation node operator wrote the status, in the middle of replacing nodes: it never writes
 * an observed generation. Until its end, it keeps each AutoscalingStrategy disabled, whatever users set.
 */
function isLeftHalfDone({ status }: NodeVersion): boolean {
  const outdated = status?.conditions.find(({ type }) => type === "Outdated");
  return outdated?.status === "True" && outdated["observedGeneration"] === undefined &&
    status?.["observedGeneration"] === undefined;
}

/** Returns the IDs of the groups that have converged, and of the groups of control planes. */
function idsOf(
  progress: readonly GroupProgress[],
  groups: readonly ScalingGroup[],
): { converged: string[]; controlPlanes: string[] } {
  return {
    converged: progress.filter(({ isDone }) => isDone).map(({ groupId }) => groupId),
    controlPlanes: groups.filter(isControlPlane).map(({ spec }) => spec.groupId),
  };
}

type Present = Extract<VersionSurvey, { state: "Present" }>;
type Seen = Omit<Present, "state" | "fingerprint" | "digest" | "released">;

/** Maximum number of PendingNodes that a message names. */
const named = 5;

/** Returns what the NodeVersion waits for, as a sentence; names the remaining PendingNodes once the groups are done. */
function saysOf(
  { isSettled, outdated }: Completion,
  { isDone, isAllDone, pending }: { isDone: boolean; isAllDone: boolean; pending: readonly PendingNode[] },
): string {
  if (isSettled && !isDone) return "Waiting for the scaling groups to converge to the NodeVersion";
  if (!isAllDone || pending.length === 0) return outdated.message;
  const names = pending.map(({ metadata }) => `"${metadata.name}"`).sort();
  const rest = names.length > named ? ` and ${names.length - named} more` : "";
  return `${outdated.message}: PendingNode${names.length === 1 ? "" : "s"} ${names.slice(0, named).join(", ")}${rest}`;
}

function survey(version: NodeVersion, seen: Seen): Present {
  const facts = { digest: hashOf(askedBy(version)), released: releasedStage(version) ?? null, ...seen };
  // The fingerprint must not depend on which worker process of Ostler computes it: a process without hands
  // (`docs/explanation/hands.md`) may survey, and a process with hands may wait for a change. If their fingerprints
  // differed, each wait would end immediately.
  const ofAnyWorker = { ...facts, upgrade: upgradeStateOf(version) };
  const fingerprint = createHash("sha256").update(JSON.stringify(ofAnyWorker)).digest("hex").slice(0, 16);
  return { state: "Present", fingerprint, ...facts };
}

function classesOf(nodes: readonly MarkedNode[], target: NodeTarget, pending: readonly PendingNode[]): Classes {
  const classes: Classes = {
    ...{ upToDate: [], outdated: [], donors: [], heirs: [] },
    ...{ mints: [], awaitingAnnotation: [], obsolete: [], invalid: [] },
  };
  for (const node of nodes) classes[classOf(node, target, pending)].push(node);
  return classes;
}

function namesOf(classes: Classes): Record<NodeClass, string[]> {
  const entries = Object.entries(classes).map(([name, nodes]) => [name, nodes.map((node) => node.name).sort()]);
  return Object.fromEntries(entries) as Record<NodeClass, string[]>;
}

function movesOf(pending: readonly PendingNode[]): { joins: number; leaves: number } {
  const leaves = pending.filter(({ spec }) => spec.goal === "Leave").length;
  return { joins: pending.length - leaves, leaves };
}

function stagesOf(
  groups: readonly GroupProgress[],
  { nodes, target, pending }: {
    nodes: readonly MarkedNode[];
    target: NodeTarget;
    pending: readonly PendingNode[];
  },
): Record<VersionStage, StageSurvey> {
  const of = (stage: VersionStage): StageSurvey => {
    const own = groups.filter((group) => group.stage === stage);
    const keys = own.map(({ groupId }) => groupKeyOf(groupId));
    const theirs = nodes.filter(({ group }) => keys.includes(groupKeyOf(group)));
    const skewed = theirs.filter((node) => !hasComponents(node, target));
    const outdated = theirs.filter((node) => skewed.includes(node) || !same(node.image, target.image));
    const done = own.filter(({ isDone }) => isDone).length;
    const atRest = own.filter(({ isDone, halted, waiting }) => isDone || halted !== "" || waiting !== "").length;
    return {
      groups: own.length,
      done,
      atRest,
      outdated: outdated.length,
      skewed: skewed.length,
      unannounced: skewed.filter((node) => isUnannounced(node, pending)).length,
      ...{ halted: toldOf(own, "halted"), waiting: toldOf(own, "waiting") },
      moving: own.filter(({ isMoving }) => isMoving).length,
    };
  };
  return { ControlPlane: of("ControlPlane"), Workers: of("Workers") };
}

function isStageDone({ done, groups }: StageSurvey): boolean {
  return done === groups;
}

/** Returns whether the node of an ordered machine does not have the annotation of its components yet. */
function isUnannounced({ name, providerId, components }: MarkedNode, pending: readonly PendingNode[]): boolean {
  if (components !== "" || providerId === "") return false;
  return pending.some(({ spec: { goal, nodeName, providerID } }) =>
    goal !== "Leave" && (nodeName === name || same(providerID, providerId))
  );
}

function autoscalersOf(
  { strategies, held, isRebalancing }: {
    strategies: readonly AutoscalingStrategy[];
    held: readonly ScalingGroup[];
    isRebalancing: boolean;
  },
  name: string,
): Pick<Present, "autoscalers" | "isHeld"> {
  const isHeld = strategies.some((strategy) => holdersOf(strategy, Date.now()).includes(name)) ||
    held.length > 0;
  if (isRebalancing || strategies.some(({ spec }) => spec.enabled)) return { autoscalers: "On", isHeld };
  const isStopping = strategies.some(({ status }) => (status?.replicas ?? 0) > 0);
  return { autoscalers: isStopping ? "Stopping" : "Off", isHeld };
}

// The status of a NodeVersion, in the format of the Constellation node operator: nodes by class, and whether they are
// outdated.

/**
 * Maximum number of nodes per class, and of PendingNodes, that the status names; condition Outdated counts the unnamed
 * ones too.
 */
const shown = 200;

/** Writes the status if it differs; conditions of other controllers stay. */
async function showSurvey(
  kube: Kube,
  { metadata: { name, generation = 0, resourceVersion }, status }: NodeVersion,
  { classes, pending, completion }: { classes: Classes; pending: readonly PendingNode[]; completion: Completion },
): Promise<void> {
  const { conditions = [], ...before } = status ?? { conditions: [] };
  const others = conditions.filter(({ type }) => type !== "Outdated");
  const known = conditions.find(({ type }) => type === "Outdated");
  const since = known?.status === completion.outdated.status ? known.lastTransitionTime : undefined;
  const lastTransitionTime = since ?? new Date().toISOString();
  const outdated = { type: "Outdated", ...completion.outdated, observedGeneration: generation, lastTransitionTime };
  const wanted = {
    ...referencesOf(classes),
    pending: pending.map(({ metadata }) => metadata.name).sort().slice(0, shown).map((name) => ({
      ...kindOf("PendingNode"),
      name,
    })),
    ...{ budget: completion.budget, activeclusterversionupgrade: false, observedGeneration: generation },
    conditions: [outdated, ...others],
  };
  const has = { ...before, conditions: [known, ...others] } as Record<string, unknown>;
  const isSame = Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(has[key], value));
  if (!isSame) await ifFound(patchClusterStatus(kube, nodeVersions, { name, resourceVersion, status: wanted }));
}

function referencesOf(classes: Classes): Record<string, object[]> {
  return Object.fromEntries(
    Object.entries(classes).map(([key, nodes]) => [
      key,
      nodes.map((node) => node.name).sort().slice(0, shown).map((name) => ({ ...kindOf("Node"), name })),
    ]),
  );
}

function kindOf(kind: "Node" | "PendingNode"): { apiVersion: string; kind: string } {
  return { apiVersion: kind === "Node" ? "v1" : "update.edgeless.systems/v1alpha1", kind };
}

// Problems that an administrator must fix before a NodeVersion can be rolled out.

/** Number of groups that are read concurrently. */
const width = 10;

/** The first problem of a group in its cloud, or null, and whether the cloud moves machines between zones by itself. */
interface InCloud {
  trouble: VersionTrouble | null;
  isRebalancing: boolean;
}

async function troubleWith(
  kube: Cluster,
  { version, groups, all }: { version: NodeVersion; groups: readonly ScalingGroup[]; all: readonly ScalingGroup[] },
): Promise<InCloud> {
  const stopped = (trouble: VersionTrouble): InCloud => ({ trouble, isRebalancing: false });
  if (version.spec.image === "") {
    return stopped({ reason: "ImageMissing", message: "The NodeVersion does not name an image; set spec.image" });
  }
  const twice = groups.find((group) => all.some((other) => isSameGroup(group, other)));
  if (twice) {
    const others = all.filter((other) => isSameGroup(twice, other)).map(({ metadata }) => `"${metadata.name}"`);
    const message = `ScalingGroups "${twice.metadata.name}" and ${
      others.join(", ")
    } name the same group of the cloud; keep only one`;
    return stopped({ reason: "GroupClaimedTwice", message });
  }
  const seen = await readInCloud(kube, groups);
  // A problem of the cloud is reported first, because the nodes are unknown without the cloud's answer. With a
  // Kubernetes version that is too new, the nodes are known and count as outdated.
  return seen.trouble ? seen : { ...seen, trouble: await newerThanServer(kube, version) };
}

/**
 * Reads the groups in the cloud; the problem is a group that the cloud does not have, or the cloud's refusal to answer.
 */
async function readInCloud(kube: Cluster, groups: readonly ScalingGroup[]): Promise<InCloud> {
  let isRebalancing = false;
  try {
    if (groups.length === 0) return { trouble: null, isRebalancing };
    const driver = await kube.cloud.driver();
    const found = await abreast(width, [...groups], ({ spec }) => driver.group(spec.groupId));
    // A group that is being deleted does not count: it is never rolled, so Ostler never suspends its rebalancing.
    isRebalancing = found.some((group, nth) => group?.rebalances && !groups[nth]?.metadata.deletionTimestamp);
    const missing = groups.find((_, nth) => found[nth] === undefined);
    if (!missing) return { trouble: null, isRebalancing };
    const { metadata: { name }, spec: { groupId } } = missing;
    const message = `ScalingGroup "${name}" names group "${groupId}", which ${driver.title} does not have`;
    return { trouble: { reason: "GroupMissing", message }, isRebalancing };
  } catch (error) {
    if (failureTypeOf(error) !== "CloudRefused") throw error;
    const message = error instanceof Error ? error.message : "The cloud refused the request";
    return { trouble: { reason: "CloudRefused", message }, isRebalancing };
  }
}

function isSameGroup(one: ScalingGroup, other: ScalingGroup): boolean {
  return one.metadata.uid !== other.metadata.uid && groupKeyOf(one.spec.groupId) === groupKeyOf(other.spec.groupId);
}

/**
 * Returns the problem of a kubelet with a newer minor version than some API server (kubernetes.io, "Version Skew
 * Policy"); null without it. While control planes are upgraded, any of their API servers may answer a request for the
 * version, so each of them is read first.
 */
async function newerThanServer(kube: Cluster, { spec }: Pick<NodeVersion, "spec">): Promise<VersionTrouble | null> {
  const asked = minorOf(spec.kubernetesClusterVersion);
  if (asked === undefined) return null;
  const older = await olderApiServer(kube, asked);
  if (older) return tooNew(spec, `the API server of control plane "${older.node}" is "${older.version}"`);
  const { gitVersion } = await kube.version.getCode();
  const server = minorOf(gitVersion);
  return server === undefined || asked <= server ? null : tooNew(spec, `the API server is "${gitVersion}"`);
}

function tooNew({ kubernetesClusterVersion }: NodeVersion["spec"], state: string): VersionTrouble {
  const message =
    `The NodeVersion names Kubernetes "${kubernetesClusterVersion}", but ${state}: a kubelet must not be ` +
    "newer than its API server; upgrade all API servers first; Ostler upgrades control planes " +
    "in scaling groups itself if its worker has setting hands-image";
  return { reason: "KubernetesTooNew", message };
}
