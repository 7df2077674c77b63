import { deepEqual } from "node:assert/strict";
import type { StageSurvey, VersionSurvey } from "../../../../workflows/contracts/mod.ts";
import { nextStep } from "../../../../workflows/node_version/next_step.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

const still = { skewed: 0, unannounced: 0, atRest: 0, halted: [], waiting: [], moving: 0 };
const none: StageSurvey = { ...still, groups: 0, done: 0, outdated: 0 };
const workers: StageSurvey = { ...still, groups: 2, done: 0, outdated: 3 };

/** A survey of a NodeVersion: worker nodes are outdated, no stage is released, and no autoscaler runs. */
const outdated: Present = {
  ...{ state: "Present", fingerprint: "f", digest: "d", released: null, trouble: null },
  ...{ stages: { ControlPlane: none, Workers: workers }, autoscalers: "Off", isHeld: false, isSettled: false },
  ...{ invalid: 0, says: "3 outdated" },
};
const table: [what: string, survey: Partial<Present>, step: string, reason: string][] = [
  [
    "is done when every node is up to date, and neither a release nor a hold remains",
    { isSettled: true, says: "All 5" },
    "Done",
    "UpToDate",
  ],
  [
    "ends the release when every node is up to date, so that a group that is added later needs another survey before its release",
    { isSettled: true, isHeld: true, released: "Workers" },
    "EndRelease",
    "UpToDate",
  ],
  [
    "K24 releases the held autoscaler, and is not done yet, when every node is up to date",
    { isSettled: true, isHeld: true },
    "LetGo",
    "UpToDate",
  ],
  [
    "K24 holds a running autoscaler before it releases a stage",
    { autoscalers: "On" },
    "Hold",
    "HoldingAutoscaler",
  ],
  [
    "K24 holds the autoscaler again when its hold expired during an outage",
    { autoscalers: "On", released: "Workers" },
    "Hold",
    "HoldingAutoscaler",
  ],
  [
    "waits while the pods of a disabled autoscaler still run",
    { autoscalers: "Stopping", isHeld: true },
    "Wait",
    "HoldingAutoscaler",
  ],
  ["releases the stage when no autoscaler runs", {}, "Release", "Rolling"],
  ["waits when the stage is already released", { released: "Workers" }, "Wait", "Rolling"],
  ["releases the stage when only the previous stage is released", { released: "ControlPlane" }, "Release", "Rolling"],
  [
    "waits and reports GroupHalted when one of several scaling groups is halted",
    {
      released: "Workers",
      stages: { ControlPlane: none, Workers: { ...workers, halted: ['group "a" is halted: Bad'] } },
    },
    "Wait",
    "GroupHalted",
  ],
  [
    "releases the autoscaler when every remaining group waits for a person",
    {
      ...{ released: "Workers", isHeld: true },
      stages: { ControlPlane: none, Workers: { ...workers, atRest: 2, halted: ['group "a" is halted: Bad'] } },
    },
    "LetGo",
    "GroupHalted",
  ],
  [
    "does not hold the running autoscaler when every remaining group waits for a person",
    {
      ...{ released: "Workers", autoscalers: "On" },
      stages: { ControlPlane: none, Workers: { ...workers, atRest: 2, halted: ['group "a" is halted: Bad'] } },
    },
    "Wait",
    "GroupHalted",
  ],
  [
    "waits when two objects claim the same scaling group, which is already released",
    { released: "Workers", trouble: { reason: "GroupClaimedTwice", message: "a and b" } },
    "Wait",
    "GroupClaimedTwice",
  ],
  [
    "waits when the scaling group does not exist in the cloud",
    { trouble: { reason: "GroupMissing", message: "a" } },
    "Wait",
    "GroupMissing",
  ],
  [
    "K24 releases the autoscaler when the survey reports a failure and no group is in progress",
    { isHeld: true, released: "Workers", trouble: { reason: "CloudRefused", message: "no rights" } },
    "LetGo",
    "CloudRefused",
  ],
  [
    "K24 keeps the autoscaler held when the survey reports a failure while a group is in progress",
    {
      ...{ isHeld: true, released: "Workers", trouble: { reason: "GroupMissing", message: "a" } },
      stages: { ControlPlane: none, Workers: { ...workers, moving: 1 } },
    },
    "Wait",
    "GroupMissing",
  ],
  [
    "K24 holds the autoscaler again when a group begins despite a failure",
    {
      ...{ autoscalers: "On", released: "Workers", trouble: { reason: "GroupMissing", message: "a" } },
      stages: { ControlPlane: none, Workers: { ...workers, moving: 1 } },
    },
    "Hold",
    "GroupMissing",
  ],
  [
    "K24, K26 releases the autoscaler when all groups are done, even if the version of a node is unknown",
    {
      ...{ isHeld: true, released: "Workers", invalid: 1, says: 'Of "w" nobody' },
      stages: { ControlPlane: none, Workers: { ...workers, done: 2, atRest: 2 } },
    },
    "LetGo",
    "NodesInvalid",
  ],
  [
    "K24 releases the autoscaler when all groups are done, even if an abandoned PendingNode remains",
    {
      ...{ isHeld: true, released: "Workers", says: '1 joining: PendingNode "x"' },
      stages: { ControlPlane: none, Workers: { ...workers, done: 2, atRest: 2 } },
    },
    "LetGo",
    "Rolling",
  ],
  [
    "K24 does not hold the running autoscaler when all groups are done and a PendingNode remains",
    {
      ...{ autoscalers: "On", released: "Workers", says: '1 joining: PendingNode "x"' },
      stages: { ControlPlane: none, Workers: { ...workers, done: 2, atRest: 2 } },
    },
    "Wait",
    "Rolling",
  ],
  [
    "K24 releases the autoscaler while groups wait for their window",
    {
      ...{ isHeld: true, released: "Workers" },
      stages: { ControlPlane: none, Workers: { ...workers, atRest: 2, waiting: ['group "a" waits: OutsideWindow'] } },
    },
    "LetGo",
    "OutsideWindow",
  ],
  [
    "K26 waits while the version of a node is unknown",
    { released: "Workers", says: 'Of "w" nobody' },
    "Wait",
    "Rolling",
  ],
];

for (const [what, differs, step, reason] of table) {
  Deno.test(`nextStep: ${what}`, () => {
    const next = nextStep({ ...outdated, ...differs });
    deepEqual([next.step, next.standing.reason], [step, reason]);
  });
}

Deno.test("nextStep: releases stage Workers, and reports the release in its message", () => {
  deepEqual(nextStep(outdated), {
    ...{ step: "Release", stage: "Workers" },
    standing: { ready: "False", reason: "Rolling", message: 'Releasing stage "Workers"' },
  });
});
