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
  ["all is as wanted", { isSettled: true, says: "All 5" }, "Done", "UpToDate"],
  [
    "all is as wanted: what is released reaches no group that comes later, which is looked at first",
    { isSettled: true, isHeld: true, released: "Workers" },
    "EndRelease",
    "UpToDate",
  ],
  [
    "K24 all is as wanted and an autoscaler is held: it is let go first",
    { isSettled: true, isHeld: true },
    "LetGo",
    "UpToDate",
  ],
  [
    "K24 an autoscaler is on: it is held before anything is released",
    { autoscalers: "On" },
    "Hold",
    "HoldingAutoscaler",
  ],
  [
    "K24 its hold ended in an outage: it is held again",
    { autoscalers: "On", released: "Workers" },
    "Hold",
    "HoldingAutoscaler",
  ],
  ["an autoscaler is off and still runs", { autoscalers: "Stopping", isHeld: true }, "Wait", "HoldingAutoscaler"],
  ["no autoscaler runs", {}, "Release", "Rolling"],
  ["the stage is released", { released: "Workers" }, "Wait", "Rolling"],
  ["only the stage before is released", { released: "ControlPlane" }, "Release", "Rolling"],
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
    "every group that is left waits for a person: nobody has to do without an autoscaler",
    {
      ...{ released: "Workers", isHeld: true },
      stages: { ControlPlane: none, Workers: { ...workers, atRest: 2, halted: ['group "a" is halted: Bad'] } },
    },
    "LetGo",
    "GroupHalted",
  ],
  [
    "the same once it was let go, and is on",
    {
      ...{ released: "Workers", autoscalers: "On" },
      stages: { ControlPlane: none, Workers: { ...workers, atRest: 2, halted: ['group "a" is halted: Bad'] } },
    },
    "Wait",
    "GroupHalted",
  ],
  [
    "two objects are one group, also where it is released",
    { released: "Workers", trouble: { reason: "GroupClaimedTwice", message: "a and b" } },
    "Wait",
    "GroupClaimedTwice",
  ],
  ["the cloud has no such group", { trouble: { reason: "GroupMissing", message: "a" } }, "Wait", "GroupMissing"],
  [
    "K24 trouble comes up in mid-rollout, and nothing is under way: nobody has to do without an autoscaler",
    { isHeld: true, released: "Workers", trouble: { reason: "CloudRefused", message: "no rights" } },
    "LetGo",
    "CloudRefused",
  ],
  [
    "K24 the same while a group goes on",
    {
      ...{ isHeld: true, released: "Workers", trouble: { reason: "GroupMissing", message: "a" } },
      stages: { ControlPlane: none, Workers: { ...workers, moving: 1 } },
    },
    "Wait",
    "GroupMissing",
  ],
  [
    "K24 a group begins although something is in the way: the autoscaler is held again",
    {
      ...{ autoscalers: "On", released: "Workers", trouble: { reason: "GroupMissing", message: "a" } },
      stages: { ControlPlane: none, Workers: { ...workers, moving: 1 } },
    },
    "Hold",
    "GroupMissing",
  ],
  [
    "K24, K26 all groups are done, and of a node nobody can tell what it runs: the autoscaler is let go",
    {
      ...{ isHeld: true, released: "Workers", invalid: 1, says: 'Of "w" nobody' },
      stages: { ControlPlane: none, Workers: { ...workers, done: 2, atRest: 2 } },
    },
    "LetGo",
    "NodesInvalid",
  ],
  [
    "K24 all groups are done, and a PendingNode of nobody is left",
    {
      ...{ isHeld: true, released: "Workers", says: '1 joining: PendingNode "x"' },
      stages: { ControlPlane: none, Workers: { ...workers, done: 2, atRest: 2 } },
    },
    "LetGo",
    "Rolling",
  ],
  [
    "K24 the same once it was let go, and is on",
    {
      ...{ autoscalers: "On", released: "Workers", says: '1 joining: PendingNode "x"' },
      stages: { ControlPlane: none, Workers: { ...workers, done: 2, atRest: 2 } },
    },
    "Wait",
    "Rolling",
  ],
  [
    "K24 groups wait for the night: nobody has to do without an autoscaler by day",
    {
      ...{ isHeld: true, released: "Workers" },
      stages: { ControlPlane: none, Workers: { ...workers, atRest: 2, waiting: ['group "a" waits: OutsideWindow'] } },
    },
    "LetGo",
    "OutsideWindow",
  ],
  [
    "K26 a node of which nobody can tell what it runs",
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

Deno.test("nextStep releases workers, and says so", () => {
  deepEqual(nextStep(outdated), {
    ...{ step: "Release", stage: "Workers" },
    standing: { ready: "False", reason: "Rolling", message: 'Releasing stage "Workers"' },
  });
});
