/** Which stage of a NodeVersion is next, whether any is left, and why one cannot begin: pure functions of one look at it. */
import type { StageSurvey, VersionStage, VersionSurvey } from "../contracts/mod.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

/** Nodes run what is wanted, and groups took it up. A look tells of workers alone whether theirs did. */
export function isDone({ isSettled, stages: { ControlPlane } }: Present): boolean {
  return isSettled && ControlPlane.done === ControlPlane.groups;
}

/**
 * The stage that is next; "Refused" where control planes would be, and cannot.
 *
 * Control planes come first always, also where they came to differ while workers roll: groups of workers that have begun boot what is
 * wanted by then and go on, and no other begins. A kubelet may not be newer than its API server (kubernetes.io, "Version Skew
 * Policy"), so other components have to be the control planes' first.
 */
export function stageOf({ stages: { ControlPlane, Workers } }: Present): VersionStage | "Refused" {
  if (skewedOf(ControlPlane) > 0) return "Refused";
  if (ControlPlane.groups === 0) return "Workers";
  const isReady = ControlPlane.done === ControlPlane.groups && ControlPlane.outdated === 0;
  return isReady && Workers.groups > 0 ? "Workers" : "ControlPlane";
}

/** What a newcomer of ours runs is announced a moment after it joined: until then its stage is not done, nor is it refused. */
function skewedOf({ skewed, unannounced }: StageSurvey): number {
  return skewed - unannounced;
}

/** Why the stage of control planes is refused. */
export function refusalOf({ stages: { ControlPlane, Workers } }: Present): string {
  const refusal =
    'Cannot begin stage "ControlPlane": this release does not upgrade the Kubernetes version of control planes, ' +
    `and ${skewedOf(ControlPlane)} of their nodes run other or unknown components`;
  return Workers.groups === 0
    ? refusal
    : `${refusal}; workers wait, because a kubelet must not be newer than its API server`;
}
