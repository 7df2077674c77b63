import { deepEqual, equal } from "node:assert/strict";
import type { StageSurvey, VersionSurvey } from "../../../../workflows/contracts/mod.ts";
import { nextStep } from "../../../../workflows/node_version/next_step.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;
type Differs = Partial<Omit<Present, "stages">> & { control?: Partial<StageSurvey>; workers?: Partial<StageSurvey> };

const still = { skewed: 0, unannounced: 0, atRest: 0, halted: [], waiting: [], moving: 0 };
const one: StageSurvey = { ...still, groups: 1, done: 0, outdated: 0 };
const done = { done: 1, atRest: 1, outdated: 0 };
const halted = { atRest: 1, outdated: 1, halted: ['group "cp" is halted: Quarantined'] };

/** Of a group of each stage, that of control planes has another image, nothing is released, and no autoscaler runs. */
function seen({ control, workers, ...differs }: Differs): Present {
  return {
    ...{ state: "Present", fingerprint: "f", digest: "d", released: null, trouble: null, says: "3 outdated" },
    ...{ autoscalers: "Off", isHeld: true, isSettled: false, invalid: 0, ...differs },
    stages: { ControlPlane: { ...one, outdated: 1, ...control }, Workers: { ...one, outdated: 2, ...workers } },
  };
}

const table: [what: string, differs: Differs, step: string, reason: string][] = [
  ["C11, K23 control planes have another image: they go first", {}, "Release ControlPlane", "Rolling"],
  [
    "K23 their nodes are outdated, though their groups are done",
    { control: { done: 1 } },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K23 a group of theirs has not taken it up, though its nodes run it",
    { control: { outdated: 0 } },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K23 they are rolled: workers wait",
    { released: "ControlPlane", control: { moving: 1 } },
    "Wait",
    "Rolling",
  ],
  [
    "K23 they are halted: no worker is released, though the image alone differs, and nobody has to do without an autoscaler",
    { released: "ControlPlane", control: halted },
    "LetGo",
    "GroupHalted",
  ],
  [
    "K23 the same once the autoscaler is on",
    { released: "ControlPlane", control: halted, isHeld: false, autoscalers: "On" },
    "Wait",
    "GroupHalted",
  ],
  [
    "K23 they wait for their window: so do workers",
    { released: "ControlPlane", control: { atRest: 1, waiting: ['group "cp" waits: OutsideWindow'] } },
    "LetGo",
    "OutsideWindow",
  ],
  [
    "K24 they are halted while workers that began before go on: the autoscaler stays held",
    { released: "ControlPlane", control: halted, workers: { moving: 1 } },
    "Wait",
    "GroupHalted",
  ],
  ["C12, K23 they are done: workers follow", { released: "ControlPlane", control: done }, "Release Workers", "Rolling"],
  ["K23 they were done before anything was released", { control: done }, "Release Workers", "Rolling"],
  ["K23 they are done, and workers roll", { released: "Workers", control: done }, "Wait", "Rolling"],
  [
    "K23 they are outdated again while workers roll: they go first; workers that began boot it already, and no other begins",
    { released: "Workers", control: { done: 1 }, workers: { moving: 1 } },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K24 the same after the autoscaler was let go: it is held first",
    { released: "Workers", isHeld: false, autoscalers: "On" },
    "Hold",
    "HoldingAutoscaler",
  ],
  [
    "K23 workers run it before control planes do",
    { released: "Workers", workers: done },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K23 every node runs it, and a group of control planes has not taken it up",
    { isSettled: true, control: { outdated: 0 }, workers: done },
    "Release ControlPlane",
    "Rolling",
  ],
  ["K23 all is done", { isSettled: true, isHeld: false, control: done, workers: done }, "Done", "UpToDate"],
  [
    "C11, C12, K23 they have other components: no worker goes before them",
    { isHeld: false, control: { skewed: 1 } },
    "Wait",
    "ControlPlaneRefused",
  ],
  [
    "K23 the same in mid-rollout: no worker that has not begun does so",
    { released: "Workers", control: { skewed: 1 } },
    "EndRelease",
    "ControlPlaneRefused",
  ],
  [
    "K23 the same once nothing is released: nobody has to do without an autoscaler",
    { control: { skewed: 1 } },
    "LetGo",
    "ControlPlaneRefused",
  ],
  [
    "K23 they came to differ in components while workers roll: the autoscaler is held until these rest",
    { control: { skewed: 1 }, workers: { moving: 1 } },
    "Wait",
    "ControlPlaneRefused",
  ],
  [
    "K5, K23 a newcomer of theirs joined, and is still to be announced: that is no other component",
    { released: "ControlPlane", control: { skewed: 1, unannounced: 1, moving: 1 } },
    "Wait",
    "Rolling",
  ],
  [
    "K5, K23 one of two is not announced, and the other has other components",
    { control: { outdated: 2, skewed: 2, unannounced: 1 } },
    "LetGo",
    "ControlPlaneRefused",
  ],
  ["there are no workers", { workers: { groups: 0, outdated: 0 } }, "Release ControlPlane", "Rolling"],
  [
    "K24 there are no workers, and of a node nobody can tell what it runs",
    { released: "ControlPlane", control: done, workers: { groups: 0, outdated: 0 }, invalid: 1 },
    "LetGo",
    "NodesInvalid",
  ],
];

for (const [what, differs, step, reason] of table) {
  Deno.test(`stages of a NodeVersion: ${what}`, () => {
    const next = nextStep(seen(differs));
    const did = next.step === "Release" ? `Release ${next.stage}` : next.step;
    deepEqual([did, next.standing.reason], [step, reason]);
  });
}

Deno.test("K23 why control planes are refused is told, and that workers wait for them", () => {
  equal(
    nextStep(seen({ control: { outdated: 3, skewed: 2 } })).standing.message,
    'Cannot begin stage "ControlPlane": this release does not upgrade the Kubernetes version of control planes, ' +
      "and 2 of their nodes run other or unknown components; " +
      "workers wait, because a kubelet must not be newer than its API server",
  );
});

Deno.test("a NodeVersion whose nodes all run it tells which groups it waits for", () => {
  const { standing } = nextStep(
    seen({ isSettled: true, released: "ControlPlane", control: { outdated: 0, moving: 1 } }),
  );
  equal(standing.message, "Waiting for the control plane groups to take up the desired state");
});
