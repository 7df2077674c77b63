/** Releases the target of a NodeVersion to its control planes or its workers, and writes the NodeVersion's status. */
import type { ClusterObject, VersionStage, VersionStanding } from "../../workflows/contracts/mod.ts";
import { imageKeyOf } from "../clouds/marketplace.ts";
import { moot, unavailable } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { patchClusterStatus, readClusterObject } from "../kube/resources.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";
import { type NodeVersion, nodeVersions, type ScalingGroup } from "../kube/update_kinds.ts";
import { emitEvents } from "../status/events.ts";
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

/**
 * Records in the status that the groups of a stage may take the target of the NodeVersion. Throws Moot
 * (GenerationStale) if the NodeVersion was deleted, or if the digest of its target is not `digest`.
 */
export function ensureStageReleased(
  kube: Kube,
  { object: { name }, stage, digest }: { object: ClusterObject; stage: VersionStage; digest: string },
): Promise<void> {
  return attempting(`release stage "${stage}" of NodeVersion "${name}"`, async () => {
    const version = await ifFound(readClusterObject(kube, nodeVersions, name));
    if (!version || hashOf(askedBy(version)) !== digest) {
      throw moot(
        "GenerationStale",
        `Failed to release stage "${stage}" of NodeVersion "${name}": the NodeVersion was deleted or its spec changed`,
      );
    }
    await write(kube, version, { released: { stage, digest } });
  });
}

/** Removes the release from the status; groups keep the target that they already have. */
export function ensureReleaseEnded(kube: Kube, { object: { name } }: { object: ClusterObject }): Promise<void> {
  return attempting(`end the release of NodeVersion "${name}"`, async () => {
    const version = await ifFound(readClusterObject(kube, nodeVersions, name));
    if (version?.status?.["released"]) await write(kube, version, { released: null });
  });
}

/** Writes the condition Ready, and emits an Event for a new reason. */
export function ensureVersionTold(
  kube: Kube,
  { object: { name }, standing }: { object: ClusterObject; standing: VersionStanding },
): Promise<void> {
  const { ready: status, reason, message } = standing;
  const isWell = status === "True" || inProgress.includes(reason);
  return tellCondition(kube, name, () => ({ type: "Ready", status, reason, message, isWell }));
}

/** Reasons that require no action. */
const inProgress = ["Rolling", "HoldingAutoscaler", "OutsideWindow", "UpgradingKubernetes"];

/** A condition; `isWell` for a reason that requires no action. */
interface ToldCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  isWell: boolean;
  /** Fields of the status that are written together with the condition. */
  beside?: Readonly<Record<string, unknown>>;
}

/**
 * Writes a condition unless the status already has it, and emits an Event for a new reason; does nothing for a
 * NodeVersion that was deleted.
 */
export function tellCondition(
  kube: Kube,
  name: string,
  conditionOf: (version: NodeVersion) => ToldCondition,
): Promise<void> {
  return attempting(`write the status of NodeVersion "${name}"`, async () => {
    const version = await ifFound(readClusterObject(kube, nodeVersions, name));
    if (version) await writeCondition(kube, version, conditionOf(version));
  });
}

async function writeCondition(
  kube: Kube,
  version: NodeVersion,
  { type, status, reason, message, isWell, beside = {} }: ToldCondition,
): Promise<void> {
  const conditions = version.status?.conditions ?? [];
  const before = conditions.find((each) => each.type === type);
  const isSame = Object.entries(beside).every(([key, value]) =>
    isDeepStrictEqual(version.status?.[key] ?? null, value)
  );
  if (isSame && before?.reason === reason && before.message === message && before.status === status) return;
  const lastTransitionTime = (before?.status === status && before.lastTransitionTime) || new Date().toISOString();
  const { name, uid, generation: observedGeneration = 0 } = version.metadata;
  const now = { type, status, reason, message, observedGeneration, lastTransitionTime };
  await write(kube, version, { ...beside, conditions: [...conditions.filter((each) => each.type !== type), now] });
  if (before?.reason === reason) return;
  const object = { apiVersion: "update.edgeless.systems/v1alpha1", kind: "NodeVersion" };
  const event = { type: isWell ? "Normal" : "Warning", reason, message } as const;
  await emitEvents(kube, { namespace: "", name, uid, object }, [event]);
}

/** Writes changes of the status with all fields that the CRD requires. */
async function write(kube: Kube, { metadata, status }: NodeVersion, changes: object): Promise<void> {
  const { name, resourceVersion } = metadata;
  const least = { budget: 0, activeclusterversionupgrade: false, conditions: [], ...status };
  try {
    await patchClusterStatus(kube, nodeVersions, { name, resourceVersion, status: { ...least, ...changes } });
  } catch (error) {
    if (statusOf(error) !== 409) throw error;
    throw unavailable(`Failed to write the status of NodeVersion "${name}": conflict, the object was modified`);
  }
}

// The target of a NodeVersion, and the stage of groups to which this target is released.

/** An image and a set of components, as in the annotations of nodes. */
export interface Target {
  image: string;
  components: string;
}

/** Returns the identity of a target; equal for targets that differ only in case, or in the form of their image. */
export function hashOf({ image, components }: Target): string {
  return digestOf([imageKeyOf(image), components.toLowerCase()]).slice(0, 10);
}

/** Returns the target of a NodeVersion. */
export function askedBy({ spec }: Pick<NodeVersion, "spec">): Target {
  return { image: spec.image, components: spec.kubernetesComponentsReference };
}

type Stage = "ControlPlane" | "Workers";

/** Returns the last stage to which the status records the current target as released; undefined if there is none. */
export function releasedStage(version: Pick<NodeVersion, "spec" | "status">): Stage | undefined {
  const { stage, digest } = (version.status?.["released"] ?? {}) as { stage?: unknown; digest?: unknown };
  if (digest !== hashOf(askedBy(version))) return undefined;
  return stage === "ControlPlane" || stage === "Workers" ? stage : undefined;
}

/**
 * Returns whether the target is released to a group; only a release to the stage of the group's own role counts, so a
 * release to workers does not include control planes.
 */
export function isReleased(group: Pick<ScalingGroup, "spec">, version: Pick<NodeVersion, "spec" | "status">): boolean {
  return releasedStage(version) === (isControlPlane(group) ? "ControlPlane" : "Workers");
}

/** Returns whether a group has the role of control planes. */
export function isControlPlane({ spec: { role } }: { spec: Pick<ScalingGroup["spec"], "role"> }): boolean {
  return /^control-?plane$/i.test(role);
}

/** Returns a short hash of plain JSON. */
export function digestOf(facts: unknown): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16);
}
