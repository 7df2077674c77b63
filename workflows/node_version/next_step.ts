/** What to do now with a NodeVersion: a pure function of one look at it. */
import type { StageSurvey, VersionStage, VersionStanding, VersionSurvey } from "../contracts/mod.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

/** One step, and what is told meanwhile. */
export type NextStep =
  | { step: "Hold" | "LetGo" | "Wait" | "Done"; standing: VersionStanding }
  | { step: "Release"; stage: VersionStage; standing: VersionStanding };

/** Preflight, hold, stages in their order, audit, and let go. */
export function nextStep(survey: Present): NextStep {
  const { isSettled, isHeld, trouble, says } = survey;
  if (isSettled) {
    return { step: isHeld ? "LetGo" : "Done", standing: { ready: "True", reason: "UpToDate", message: says } };
  }
  if (trouble) return wait(trouble.reason, trouble.message);
  const stage = stageOf(survey);
  if (stage === "Refused") return wait("ControlPlaneRefused", refusal(survey.stages.ControlPlane));
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

function refusal({ outdated }: StageSurvey): string {
  return `Cannot begin stage "ControlPlane": replacing control planes is not supported yet, and ${outdated} of their nodes ` +
    "are outdated; workers wait, as no kubelet may be newer than its API server";
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
