/** Returns the next step of a NodeVersion, as a pure function of one survey. */
import type {
  StageSurvey,
  VersionStage,
  VersionStanding,
  VersionSurvey,
  VersionTrouble,
  VersionUpgrade,
} from "../contracts/mod.ts";
import { isDone, refusalOf, stageOf, upgradeNeeded } from "./stage_of.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

/**
 * One step, and the status to report meanwhile. Hold: turn the autoscalers off. LetGo: turn them on again. Release: let
 * the groups of a stage take the spec. EndRelease: let no further group take it. Upgrade: a separate run upgrades
 * Kubernetes of the control planes.
 */
export type NextStep =
  | { step: "Hold" | "LetGo" | "EndRelease" | "Upgrade" | "Wait" | "Done"; standing: VersionStanding }
  | { step: "Release"; stage: VersionStage; standing: VersionStanding };

/**
 * Returns the next step: check, upgrade control planes, hold autoscalers, release the stages in order, check again, and
 * end the hold.
 */
export function nextStep(survey: Present): NextStep {
  const { released, trouble } = survey;
  if (isDone(survey)) return end(survey);
  const upgrade = upgradeNeeded(survey);
  if (upgrade) return upgradeFirst(survey, upgrade);
  if (trouble) return halt(survey, trouble);
  const stage = stageOf(survey);
  if (stage === "Refused") return refuse(survey);
  if (released === stage && rests(survey, stage)) return leave(survey, stage);
  // Autoscalers are held again even after all releases, because a hold may have ended while no worker of Ostler ran.
  if (survey.autoscalers === "On") {
    return {
      step: "Hold",
      standing: held(
        "Turning off the autoscalers, and the cloud's own moves of machines between zones, before any node is replaced",
      ),
    };
  }
  if (released !== stage) return release(survey, stage);
  return wait(...underWay(survey, stage));
}

/**
 * Ends the release, and then the hold of the autoscalers. A group that is added later needs another survey, hold and
 * release.
 */
function end({ isHeld, released, says }: Present): NextStep {
  const standing = { ready: "True", reason: "UpToDate", message: says } as const;
  if (released !== null) return { step: "EndRelease", standing };
  return { step: isHeld ? "LetGo" : "Done", standing };
}

/**
 * Returns the upgrade of the control planes, but first the end of the release, so that no further group takes
 * components that are newer than an API server. Groups that have begun continue during the upgrade, and share the slot
 * of the control planes with it.
 */
function upgradeFirst(survey: Present, { state, says }: VersionUpgrade): NextStep {
  const what = "Worker nodes and new images wait until Kubernetes is upgraded on the control planes";
  const message = says === "" ? what : `${what}: ${says}`;
  const reason = state === "Cancelled" ? "UpgradeCancelled" : "UpgradingKubernetes";
  const standing = { ready: "False", reason, message } as const;
  if (survey.released !== null) return { step: "EndRelease", standing };
  const next = stop(survey, { reason, message });
  return next.step === "Wait" && state === "Possible" ? { step: "Upgrade", standing } : next;
}

/**
 * Stops because of a failure. If the components are newer than an API server, ends the release first, so that no
 * further group takes them; other failures do not concern the released spec.
 */
function halt(survey: Present, trouble: VersionTrouble): NextStep {
  const { reason, message } = trouble;
  const isTooNew = reason === "KubernetesTooNew" && survey.released !== null;
  return isTooNew ? { step: "EndRelease", standing: { ready: "False", reason, message } } : stop(survey, trouble);
}

function refuse(survey: Present): NextStep {
  const [reason, message] = ["ControlPlaneRefused", refusalOf(survey)];
  // If the control planes began to differ after a release, groups that have begun continue, and no other group begins.
  if (survey.released !== null) return { step: "EndRelease", standing: { ready: "False", reason, message } };
  return stop(survey, { reason, message });
}

/** Releases no further stage; groups finish what they have begun, and autoscalers stay held meanwhile. */
function stop(survey: Present, { reason, message }: { reason: string; message: string }): NextStep {
  const { isHeld, autoscalers } = survey;
  if (!isMoving(survey)) return isHeld ? letGo(reason, message) : wait(reason, message);
  return autoscalers === "On" ? { step: "Hold", standing: { ready: "False", reason, message } } : wait(reason, message);
}

// The release waits until autoscalers have stopped, because they may still add or remove machines.
function release({ autoscalers }: Present, stage: VersionStage): NextStep {
  if (autoscalers === "Stopping") return wait("HoldingAutoscaler", "Waiting for the autoscaler to stop");
  return { step: "Release", stage, standing: rolling(`Releasing stage "${stage}"`) };
}

/** Reported when all nodes of control planes are updated, but not all of their groups have converged. */
const notTakenUp = "Waiting for the control plane groups to take up the desired state";

function underWay(survey: Present, stage: VersionStage): [reason: string, message: string] {
  const { halted, waiting, groups, done } = survey.stages[stage];
  if (halted.length > 0) return ["GroupHalted", halted.join("; ")];
  if (waiting.length > 0 && isAtRest(survey.stages[stage])) return ["OutsideWindow", waiting.join("; ")];
  const isInvalid = done === groups && survey.invalid > 0;
  return [isInvalid ? "NodesInvalid" : "Rolling", survey.isSettled ? notTakenUp : survey.says];
}

/**
 * Returns whether the stage waits and no group of any stage has anything in progress: groups of workers that began
 * earlier can still be busy while control planes wait.
 */
function rests(survey: Present, stage: VersionStage): boolean {
  return isAtRest(survey.stages[stage]) && !isMoving(survey);
}

/**
 * Returns whether every group of the stage is done, or waits for a person or a window, so that autoscalers need not be
 * held.
 */
function isAtRest({ groups, atRest }: StageSurvey): boolean {
  return groups > 0 && atRest === groups;
}

/** Returns whether any group has something in progress, even something that it can finish without this run. */
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
