/** What to do now with a NodeVersion: a pure function of one look at it. */
import type { StageSurvey, VersionStage, VersionStanding, VersionSurvey } from "../contracts/mod.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

/** One step, and what is told meanwhile. */
export type NextStep =
  | { step: "Hold" | "LetGo" | "EndRelease" | "Wait" | "Done"; standing: VersionStanding }
  | { step: "Release"; stage: VersionStage; standing: VersionStanding };

/**
 * By which a run began: those of before ended no release, and let the autoscaler go only at the end and where all that is
 * left waits for a person; the first ones not where control planes are refused either.
 */
export type Rules = "First" | "LetGoWhereRefused" | "LetGoAtRest";

/** Preflight, hold, stages in their order, audit, and let go. */
export function nextStep(survey: Present, rules: Rules = "LetGoAtRest"): NextStep {
  const { isSettled, released, trouble } = survey;
  const isPatient = rules === "LetGoAtRest";
  if (isSettled) return end(survey, rules);
  if (trouble) return isPatient ? stop(survey, trouble) : wait(trouble.reason, trouble.message);
  const stage = stageOf(survey);
  if (stage === "Refused" || (rules !== "First" && isAllElseDone(survey))) return refuse(survey, rules);
  const rests = isPatient ? isAtRest(survey.stages[stage]) : isStuck(survey.stages[stage]);
  if (released === stage && rests) return leave(survey, stage);
  // Also once all is released: a hold may have ended while nobody of us was there.
  if (survey.autoscalers === "On") {
    return { step: "Hold", standing: held("An autoscaler is on: it is turned off first") };
  }
  if (released !== stage) return release(survey, stage);
  return wait(...underWay(survey, stage));
}

/** A group that comes later is released like any other: after a look at all of them, and under a hold. */
function end({ isHeld, released, says }: Present, rules: Rules): NextStep {
  const standing = { ready: "True", reason: "UpToDate", message: says } as const;
  if (rules === "LetGoAtRest" && released !== null) return { step: "EndRelease", standing };
  return { step: isHeld ? "LetGo" : "Done", standing };
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

function refuse(survey: Present, rules: Rules): NextStep {
  const [reason, message] = ["ControlPlaneRefused", refusal(survey)];
  if (rules === "LetGoAtRest") return stop(survey, { reason, message });
  return survey.isHeld && rules !== "First" ? letGo(reason, message) : wait(reason, message);
}

/** Nothing more is released; what groups have begun goes on, and nobody scales them meanwhile. */
function stop(survey: Present, { reason, message }: { reason: string; message: string }): NextStep {
  const { isHeld, autoscalers } = survey;
  if (!isMoving(survey)) return isHeld ? letGo(reason, message) : wait(reason, message);
  return autoscalers === "On" ? { step: "Hold", standing: { ready: "False", reason, message } } : wait(reason, message);
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

function underWay(survey: Present, stage: VersionStage): [reason: string, message: string] {
  const { halted, waiting = [], groups, done } = survey.stages[stage];
  if (halted.length > 0) return ["GroupHalted", halted.join("; ")];
  if (waiting.length > 0 && isAtRest(survey.stages[stage])) return ["OutsideWindow", waiting.join("; ")];
  const isInvalid = done === groups && (survey.invalid ?? 0) > 0;
  return [isInvalid ? "NodesInvalid" : "Rolling", survey.says];
}

/** All that is left waits for a person, maybe for days. */
function isStuck({ groups, atRest, halted }: StageSurvey): boolean {
  return halted.length > 0 && atRest === groups;
}

/** Nothing is under way, nor will be before a person acts or a window opens: nobody has to do without an autoscaler. */
function isAtRest({ groups, atRest }: StageSurvey): boolean {
  return groups > 0 && atRest === groups;
}

/** Also what goes on without this run: groups finish what they have begun. */
function isMoving({ stages }: Present): boolean {
  return Object.values(stages).some(({ groups, moving = groups }) => moving > 0);
}

function leave(survey: Present, stage: VersionStage): NextStep {
  const [reason, message] = underWay(survey, stage);
  return survey.isHeld ? letGo(reason, message) : wait(reason, message);
}

function letGo(reason: string, message: string): NextStep {
  return { step: "LetGo", standing: { ready: "False", reason, message } };
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
