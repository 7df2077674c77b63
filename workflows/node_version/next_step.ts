/** What to do now with a NodeVersion: a pure function of one look at it. */
import type { StageSurvey, VersionStage, VersionStanding, VersionSurvey } from "../contracts/mod.ts";
import { isDone, refusalOf, stageOf } from "./stage_of.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

/** One step, and what is told meanwhile. */
export type NextStep =
  | { step: "Hold" | "LetGo" | "EndRelease" | "Wait" | "Done"; standing: VersionStanding }
  | { step: "Release"; stage: VersionStage; standing: VersionStanding };

/** Preflight, hold, stages in their order, audit, and let go. */
export function nextStep(survey: Present): NextStep {
  const { released, trouble } = survey;
  if (isDone(survey)) return end(survey);
  if (trouble) return stop(survey, trouble);
  const stage = stageOf(survey);
  if (stage === "Refused") return refuse(survey);
  if (released === stage && rests(survey, stage)) return leave(survey, stage);
  // Also once all is released: a hold may have ended while nobody of us was there.
  if (survey.autoscalers === "On") {
    return { step: "Hold", standing: held("Turning off the running autoscaler first") };
  }
  if (released !== stage) return release(survey, stage);
  return wait(...underWay(survey, stage));
}

/** A group that comes later is released like any other: after a look at all of them, and under a hold. */
function end({ isHeld, released, says }: Present): NextStep {
  const standing = { ready: "True", reason: "UpToDate", message: says } as const;
  if (released !== null) return { step: "EndRelease", standing };
  return { step: isHeld ? "LetGo" : "Done", standing };
}

function refuse(survey: Present): NextStep {
  const [reason, message] = ["ControlPlaneRefused", refusalOf(survey)];
  // What was released before they came to differ: groups that have begun go on, and no other begins.
  if (survey.released !== null) return { step: "EndRelease", standing: { ready: "False", reason, message } };
  return stop(survey, { reason, message });
}

/** Nothing more is released; what groups have begun goes on, and nobody scales them meanwhile. */
function stop(survey: Present, { reason, message }: { reason: string; message: string }): NextStep {
  const { isHeld, autoscalers } = survey;
  if (!isMoving(survey)) return isHeld ? letGo(reason, message) : wait(reason, message);
  return autoscalers === "On" ? { step: "Hold", standing: { ready: "False", reason, message } } : wait(reason, message);
}

// Nothing is ordered while an autoscaler may still take away or add machines.
function release({ autoscalers }: Present, stage: VersionStage): NextStep {
  if (autoscalers === "Stopping") return wait("HoldingAutoscaler", "Waiting for the autoscaler to stop");
  return { step: "Release", stage, standing: rolling(`Releasing stage "${stage}"`) };
}

/** A look tells of nodes, and of groups of workers. */
const notTakenUp = "Waiting for the control plane groups to take up the desired state";

function underWay(survey: Present, stage: VersionStage): [reason: string, message: string] {
  const { halted, waiting, groups, done } = survey.stages[stage];
  if (halted.length > 0) return ["GroupHalted", halted.join("; ")];
  if (waiting.length > 0 && isAtRest(survey.stages[stage])) return ["OutsideWindow", waiting.join("; ")];
  const isInvalid = done === groups && survey.invalid > 0;
  return [isInvalid ? "NodesInvalid" : "Rolling", survey.isSettled ? notTakenUp : survey.says];
}

/** Workers that began before control planes came to differ go on, also where the stage of these does not. */
function rests(survey: Present, stage: VersionStage): boolean {
  return isAtRest(survey.stages[stage]) && !isMoving(survey);
}

/** Nothing is under way, nor will be before a person acts or a window opens: nobody has to do without an autoscaler. */
function isAtRest({ groups, atRest }: StageSurvey): boolean {
  return groups > 0 && atRest === groups;
}

/** Also what goes on without this run: groups finish what they have begun. */
function isMoving({ stages }: Present): boolean {
  return Object.values(stages).some(({ moving }) => moving > 0);
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
