/** The next stage of a NodeVersion, and why a stage cannot begin, as pure functions of one survey. */
import type { StageSurvey, VersionStage, VersionSurvey, VersionUpgrade } from "../contracts/mod.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

/**
 * Returns whether all nodes are updated and all groups of control planes have converged; `isSettled` already covers
 * groups of workers.
 */
export function isDone({ isSettled, stages: { ControlPlane } }: Present): boolean {
  return isSettled && ControlPlane.done === ControlPlane.groups;
}

/**
 * Returns the upgrade of Kubernetes that control planes need before any stage. Returns undefined if they need none, if
 * they are in no group (Ostler upgrades only groups), or if Ostler cannot run orders on nodes.
 */
export function upgradeNeeded({ upgrade, trouble, stages: { ControlPlane } }: Present): VersionUpgrade | undefined {
  if (ControlPlane.groups === 0) return undefined;
  const isBehind = trouble === null ? skewedOf(ControlPlane) > 0 : trouble.reason === "KubernetesTooNew";
  return isBehind ? upgrade : undefined;
}

/**
 * Returns whether the last report is about an upgrade that is no longer needed, because a person cancelled it and then
 * restored the previous version. Another run of the upgrade then reports the present state, and ends.
 */
export function isReportOver(survey: Present): boolean {
  const { upgrade, trouble, stages: { ControlPlane } } = survey;
  if (trouble !== null || ControlPlane.groups === 0 || upgradeNeeded(survey)) return false;
  return upgrade?.state === "Possible" && upgrade.says !== "";
}

/**
 * Returns the next stage; "Refused" if control planes are next and cannot begin.
 *
 * Control planes always come first, even if they begin to differ while workers roll: groups of workers that have begun
 * continue with the current image, and no other group begins. A kubelet may not be newer than its API server
 * (kubernetes.io, "Version Skew Policy"), so control planes must get other components first.
 */
export function stageOf({ stages: { ControlPlane, Workers } }: Present): VersionStage | "Refused" {
  if (skewedOf(ControlPlane) > 0) return "Refused";
  if (ControlPlane.groups === 0) return "Workers";
  const isReady = ControlPlane.done === ControlPlane.groups && ControlPlane.outdated === 0;
  return isReady && Workers.groups > 0 ? "Workers" : "ControlPlane";
}

/**
 * Counts nodes whose components differ from the desired ones. A new machine that Ostler ordered counts only once it is
 * annotated, a moment after it has joined: before that, its stage is neither done nor refused.
 */
function skewedOf({ skewed, unannounced }: StageSurvey): number {
  return skewed - unannounced;
}

/** Returns why the stage of control planes is refused. */
export function refusalOf({ stages: { ControlPlane, Workers } }: Present): string {
  const refusal =
    `Cannot begin stage "ControlPlane": ${skewedOf(ControlPlane)} of its nodes run components that are unknown ` +
    "or differ from the desired ones, and Ostler upgrades Kubernetes only if its worker has setting hands-image";
  return Workers.groups === 0
    ? refusal
    : `${refusal}; workers wait, because a kubelet must not be newer than its API server`;
}
