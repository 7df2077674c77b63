/** What to do now with a NodeVersion: a pure function of one look at it. */
import type { StageSurvey, VersionStage, VersionStanding, VersionSurvey } from "../contracts/mod.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

/** One step, and what is told meanwhile. */
export type NextStep =
  | { step: "Hold" | "LetGo" | "Wait" | "Done"; standing: VersionStanding }
  | { step: "Release"; stage: VersionStage; standing: VersionStanding };

/** Preflight, hold, stages in their order, audit, and let go; runs of before did not let go where control planes are refused. */
export function nextStep(survey: Present, { isOfBefore = false }: { isOfBefore?: boolean } = {}): NextStep {
  const { isSettled, isHeld, trouble, says } = survey;
  if (isSettled) {
    return { step: isHeld ? "LetGo" : "Done", standing: { ready: "True", reason: "UpToDate", message: says } };
  }
  if (trouble) return wait(trouble.reason, trouble.message);
  const stage = stageOf(survey);
  if (stage === "Refused" || (!isOfBefore && isAllElseDone(survey))) {
    const standing = { ready: "False", reason: "ControlPlaneRefused", message: refusal(survey) } as const;
    return { step: survey.isHeld && !isOfBefore ? "LetGo" : "Wait", standing };
  }
  if (survey.released === stage && isStuck(survey.stages[stage])) return leave(survey, stage);
  // Also once all is released: a hold may have ended while nobody of us was there.
  if (survey.autoscalers === "On") {
    return { step: "Hold", standing: held("An autoscaler is on: it is turned off first") };
  }
  if (survey.released !== stage) return release(survey, stage);
  return wait(...underWay(survey, stage));
}

/**
 * Control planes cannot be rolled by this version of ours. Where they differ in the image alone, workers may go on; a kubelet
 * may not be newer than its API server (kubernetes.io, "Version Skew Policy"), so other components have to be theirs first.
 */
function stageOf({ stages: { ControlPlane, Workers } }: Present): VersionStage | "Refused" {
  if (Workers.groups === 0 && ControlPlane.outdated > 0) return "Refused";
  return ControlPlane.skewed > 0 ? "Refused" : "Workers";
}

/** Workers run what is wanted, and control planes do not. */
function isAllElseDone({ released, stages: { ControlPlane, Workers } }: Present): boolean {
  return released === "Workers" && Workers.done === Workers.groups && ControlPlane.outdated > 0;
}

function refusal({ stages: { ControlPlane, Workers } }: Present): string {
  const first = `Cannot begin stage "ControlPlane": replacing control planes is not supported yet, and ` +
    `${ControlPlane.outdated} of their nodes are outdated`;
  if (Workers.groups === 0) return first;
  const wait = "workers wait, as no kubelet may be newer than its API server";
  return `${first}; ${ControlPlane.skewed > 0 ? wait : "workers run what is wanted"}`;
}

// Nothing is ordered while an autoscaler may still take away or add machines.
function release({ autoscalers }: Present, stage: VersionStage): NextStep {
  if (autoscalers === "Stopping") return wait("HoldingAutoscaler", "Waiting for the autoscaler to stop");
  return { step: "Release", stage, standing: rolling(`Releasing stage "${stage}"`) };
}

function underWay({ stages, says }: Present, stage: VersionStage): [reason: string, message: string] {
  const { halted } = stages[stage];
  if (halted.length > 0) return ["GroupHalted", halted.join("; ")];
  return ["Rolling", says];
}

/** All that is left waits for a person, maybe for days. */
function isStuck({ groups, atRest, halted }: StageSurvey): boolean {
  return halted.length > 0 && atRest === groups;
}

/** Nobody has to do without an autoscaler meanwhile. */
function leave(survey: Present, stage: VersionStage): NextStep {
  const [reason, message] = underWay(survey, stage);
  return { step: survey.isHeld ? "LetGo" : "Wait", standing: { ready: "False", reason, message } };
}

function wait(reason: string, message: string): NextStep {
  return { step: "Wait", standing: { ready: "False", reason, message } };
}

function held(message: string): VersionStanding {
  return { ready: "False", reason: "HoldingAutoscaler", message };
}

function rolling(message: string): VersionStanding {
  return { ready: "False", reason: "Rolling", message };
}
