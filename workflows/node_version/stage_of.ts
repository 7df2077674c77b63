/** Which stage of a NodeVersion is next, whether any is left, and why one cannot begin: pure functions of one look at it. */
import type { StageSurvey, VersionStage, VersionSurvey } from "../contracts/mod.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;
type Stages = Present["stages"];

/**
 * By which a run began: those of before replaced no control planes, and were done without them; those before them ended no
 * release, and let the autoscaler go only at the end and where all that is left waits for a person; the first ones not where
 * control planes are refused either.
 */
export type Rules = "First" | "LetGoWhereRefused" | "LetGoAtRest" | "ControlPlaneFirst";

/** Nodes run what is wanted, and groups took it up. A look tells of workers alone whether theirs did. */
export function isDone({ isSettled, stages: { ControlPlane } }: Present, rules: Rules): boolean {
  return isSettled && (rules !== "ControlPlaneFirst" || ControlPlane.done === ControlPlane.groups);
}

/** The stage that is next; "Refused" where control planes would be, and cannot. */
export function stageOf(survey: Present, rules: Rules): VersionStage | "Refused" {
  const { ControlPlane, Workers } = survey.stages;
  if (rules === "ControlPlaneFirst") return firstOf(survey.stages);
  if (ControlPlane.skewed > 0 || (Workers.groups === 0 && ControlPlane.outdated > 0)) return "Refused";
  return rules !== "First" && isAllElseDone(survey) ? "Refused" : "Workers";
}

/**
 * Control planes always, also where they came to differ while workers roll: groups of workers that have begun boot what is
 * wanted by then and go on, and no other begins. A kubelet may not be newer than its API server (kubernetes.io, "Version Skew
 * Policy"), so other components have to be the control planes' first.
 */
function firstOf({ ControlPlane, Workers }: Stages): VersionStage | "Refused" {
  if (skewedOf(ControlPlane) > 0) return "Refused";
  if (ControlPlane.groups === 0) return "Workers";
  const isReady = ControlPlane.done === ControlPlane.groups && ControlPlane.outdated === 0;
  return isReady && Workers.groups > 0 ? "Workers" : "ControlPlane";
}

/** What a newcomer of ours runs is announced a moment after it joined: until then its stage is not done, nor is it refused. */
function skewedOf({ skewed, unannounced = 0 }: StageSurvey): number {
  return skewed - unannounced;
}

/** Workers run what is wanted, and control planes do not. */
function isAllElseDone({ released, stages: { ControlPlane, Workers } }: Present): boolean {
  return released === "Workers" && Workers.done === Workers.groups && ControlPlane.outdated > 0;
}

/** Why the stage of control planes is refused. */
export function refusalOf({ stages: { ControlPlane, Workers } }: Present, rules: Rules): string {
  const isNew = rules === "ControlPlaneFirst";
  const first = isNew
    ? `Kubernetes of control planes is not upgraded by this version yet, and ${
      skewedOf(ControlPlane)
    } of their nodes ` +
      "run other components, or ones that nobody has told"
    : `replacing control planes is not supported yet, and ${ControlPlane.outdated} of their nodes are outdated`;
  const refusal = `Cannot begin stage "ControlPlane": ${first}`;
  if (Workers.groups === 0) return refusal;
  const wait = "workers wait, as no kubelet may be newer than its API server";
  return `${refusal}; ${isNew || ControlPlane.skewed > 0 ? wait : "workers run what is wanted"}`;
}
