import { deepEqual } from "node:assert/strict";
import type { StageSurvey, VersionSurvey } from "../../../../workflows/contracts/mod.ts";
import { nextStep } from "../../../../workflows/node_version/next_step.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

const still = { skewed: 0, unannounced: 0, atRest: 0, halted: [], waiting: [], moving: 0 };
const none: StageSurvey = { ...still, groups: 0, done: 0, outdated: 0 };
const workers: StageSurvey = { ...still, groups: 2, done: 0, outdated: 3 };

/** Workers are outdated, nothing is released, and no autoscaler runs. */
const outdated: Present = {
  ...{ state: "Present", fingerprint: "f", digest: "d", released: null, trouble: null },
  ...{ stages: { ControlPlane: none, Workers: workers }, autoscalers: "Off", isHeld: false, isSettled: false },
  ...{ invalid: 0, says: "3 outdated" },
};
const table: [what: string, survey: Partial<Present>, step: string, reason: string][] = [
  ["everything is up to date", { isSettled: true, says: "All 5" }, "Done", "UpToDate"],
  [
    "everything is up to date and released: the release ends, and later groups are read first",
    { isSettled: true, isHeld: true, released: "Workers" },
    "EndRelease",
    "UpToDate",
  ],
  [
    "K24 everything is up to date and an autoscaler is held: it is released first",
    { isSettled: true, isHeld: true },
    "LetGo",
    "UpToDate",
  ],
  [
    "K24 an autoscaler runs: it is held before a release",
    { autoscalers: "On" },
    "Hold",
    "HoldingAutoscaler",
  ],
  [
    "K24 the hold of the autoscaler expired in an outage: it is held again",
    { autoscalers: "On", released: "Workers" },
    "Hold",
    "HoldingAutoscaler",
  ],
  [
    "an autoscaler is off and its pods still run",
    { autoscalers: "Stopping", isHeld: true },
    "Wait",
    "HoldingAutoscaler",
  ],
  ["no autoscaler runs", {}, "Release", "Rolling"],
  ["the stage is released", { released: "Workers" }, "Wait", "Rolling"],
  ["only the previous stage is released", { released: "ControlPlane" }, "Release", "Rolling"],
  [
    "a group is halted",
    {
      released: "Workers",
      stages: { ControlPlane: none, Workers: { ...workers, halted: ['group "a" is halted: Bad'] } },
    },
    "Wait",
    "GroupHalted",
  ],
  [
    "every remaining group waits for a person: the autoscaler is released",
    {
      ...{ released: "Workers", isHeld: true },
      stages: { ControlPlane: none, Workers: { ...workers, atRest: 2, halted: ['group "a" is halted: Bad'] } },
    },
    "LetGo",
    "GroupHalted",
  ],
  [
    "every remaining group waits for a person, and the autoscaler runs",
    {
      ...{ released: "Workers", autoscalers: "On" },
      stages: { ControlPlane: none, Workers: { ...workers, atRest: 2, halted: ['group "a" is halted: Bad'] } },
    },
    "Wait",
    "GroupHalted",
  ],
  [
    "two objects have the same group, which is released",
    { released: "Workers", trouble: { reason: "GroupClaimedTwice", message: "a and b" } },
    "Wait",
    "GroupClaimedTwice",
  ],
  ["the cloud has no such group", { trouble: { reason: "GroupMissing", message: "a" } }, "Wait", "GroupMissing"],
  [
    "K24 a failure occurs during a rollout, and no group is in progress: the autoscaler is released",
    { isHeld: true, released: "Workers", trouble: { reason: "CloudRefused", message: "no rights" } },
    "LetGo",
    "CloudRefused",
  ],
  [
    "K24 a failure occurs while a group is in progress",
    {
      ...{ isHeld: true, released: "Workers", trouble: { reason: "GroupMissing", message: "a" } },
      stages: { ControlPlane: none, Workers: { ...workers, moving: 1 } },
    },
    "Wait",
    "GroupMissing",
  ],
  [
    "K24 a group begins despite a failure: the autoscaler is held again",
    {
      ...{ autoscalers: "On", released: "Workers", trouble: { reason: "GroupMissing", message: "a" } },
      stages: { ControlPlane: none, Workers: { ...workers, moving: 1 } },
    },
    "Hold",
    "GroupMissing",
  ],
  [
    "K24, K26 all groups are done, and the version of a node is unknown: the autoscaler is released",
    {
      ...{ isHeld: true, released: "Workers", invalid: 1, says: 'Of "w" nobody' },
      stages: { ControlPlane: none, Workers: { ...workers, done: 2, atRest: 2 } },
    },
    "LetGo",
    "NodesInvalid",
  ],
  [
    "K24 all groups are done, and an abandoned PendingNode remains",
    {
      ...{ isHeld: true, released: "Workers", says: '1 joining: PendingNode "x"' },
      stages: { ControlPlane: none, Workers: { ...workers, done: 2, atRest: 2 } },
    },
    "LetGo",
    "Rolling",
  ],
  [
    "K24 all groups are done, a PendingNode remains, and the autoscaler runs",
    {
      ...{ autoscalers: "On", released: "Workers", says: '1 joining: PendingNode "x"' },
      stages: { ControlPlane: none, Workers: { ...workers, done: 2, atRest: 2 } },
    },
    "Wait",
    "Rolling",
  ],
  [
    "K24 groups wait for their window: the autoscaler is released until then",
    {
      ...{ isHeld: true, released: "Workers" },
      stages: { ControlPlane: none, Workers: { ...workers, atRest: 2, waiting: ['group "a" waits: OutsideWindow'] } },
    },
    "LetGo",
    "OutsideWindow",
  ],
  [
    "K26 the version of a node is unknown",
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

Deno.test("nextStep: releases workers, and reports that", () => {
  deepEqual(nextStep(outdated), {
    ...{ step: "Release", stage: "Workers" },
    standing: { ready: "False", reason: "Rolling", message: 'Releasing stage "Workers"' },
  });
});
