import { deepEqual } from "node:assert/strict";
import type { StageSurvey, VersionSurvey } from "../../../../workflows/contracts/mod.ts";
import { nextStep } from "../../../../workflows/node_version/next_step.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

const none: StageSurvey = { groups: 0, done: 0, outdated: 0, skewed: 0, halted: [] };
const workers: StageSurvey = { groups: 2, done: 0, outdated: 3, skewed: 0, halted: [] };

/** Workers are outdated, nothing is released, and no autoscaler runs. */
const outdated: Present = {
  ...{ state: "Present", fingerprint: "f", digest: "d", released: null, trouble: null },
  ...{ stages: { ControlPlane: none, Workers: workers }, autoscalers: "Off", isHeld: false, isSettled: false },
  says: "3 outdated",
};
const controlPlane = (differs: Partial<StageSurvey>): Present["stages"] => ({
  ControlPlane: { ...none, groups: 1, ...differs },
  Workers: workers,
});

const table: [what: string, survey: Partial<Present>, step: string, reason: string][] = [
  ["all is as wanted", { isSettled: true, says: "All 5" }, "Done", "UpToDate"],
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
    "K26 a node of which nobody can tell what it runs",
    { released: "Workers", says: 'Of "w" nobody' },
    "Wait",
    "Rolling",
  ],
  [
    "K23 control planes have other components",
    { stages: controlPlane({ outdated: 1, skewed: 1 }) },
    "Wait",
    "ControlPlaneRefused",
  ],
  [
    "K23 the same in mid-rollout: nobody has to do without an autoscaler",
    { stages: controlPlane({ outdated: 1, skewed: 1 }), released: "Workers", isHeld: true },
    "LetGo",
    "ControlPlaneRefused",
  ],
  [
    "K23 workers are done, and control planes have another image",
    {
      ...{ released: "Workers", isHeld: true },
      stages: { ControlPlane: { ...none, groups: 1, outdated: 1 }, Workers: { ...workers, done: 2, outdated: 0 } },
    },
    "LetGo",
    "ControlPlaneRefused",
  ],
  ["control planes have another image alone", { stages: controlPlane({ outdated: 1 }) }, "Release", "Rolling"],
  [
    "control planes alone are outdated",
    { stages: { ControlPlane: { ...none, groups: 1, outdated: 1 }, Workers: none } },
    "Wait",
    "ControlPlaneRefused",
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
