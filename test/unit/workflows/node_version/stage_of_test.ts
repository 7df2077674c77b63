import { deepEqual, equal } from "node:assert/strict";
import type { StageSurvey, VersionSurvey } from "../../../../workflows/contracts/mod.ts";
import { nextStep } from "../../../../workflows/node_version/next_step.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;
type Differs = Partial<Omit<Present, "stages">> & { control?: Partial<StageSurvey>; workers?: Partial<StageSurvey> };

const still = { skewed: 0, unannounced: 0, atRest: 0, halted: [], waiting: [], moving: 0 };
const one: StageSurvey = { ...still, groups: 1, done: 0, outdated: 0 };
const done = { done: 1, atRest: 1, outdated: 0 };
const halted = { atRest: 1, outdated: 1, halted: ['group "cp" is halted: Quarantined'] };

/**
 * Returns a survey with one group in each stage (control planes, workers): neither group has the desired version, no
 * stage is released, and no autoscaler runs.
 */
function seen({ control, workers, ...differs }: Differs): Present {
  return {
    ...{ state: "Present", fingerprint: "f", digest: "d", released: null, trouble: null, says: "3 outdated" },
    ...{ autoscalers: "Off", isHeld: true, isSettled: false, invalid: 0, ...differs },
    stages: { ControlPlane: { ...one, outdated: 1, ...control }, Workers: { ...one, outdated: 2, ...workers } },
  };
}

const possible = { state: "Possible", says: "Waiting for approval" } as const;
const tooNew = { reason: "KubernetesTooNew", message: "v1.37.0" } as const;

const table: [what: string, differs: Differs, step: string, reason: string][] = [
  ["C11, K23 releases control planes before workers when their image differs", {}, "Release ControlPlane", "Rolling"],
  [
    "K23 releases control planes when their nodes are outdated, even if their groups are done",
    { control: { done: 1 } },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K23 releases control planes when their group has not adopted the image, even if its nodes run it",
    { control: { outdated: 0 } },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K23 does not release workers while control planes roll",
    { released: "ControlPlane", control: { moving: 1 } },
    "Wait",
    "Rolling",
  ],
  [
    "K23 releases the autoscaler, and no worker, when control planes are halted",
    { released: "ControlPlane", control: halted },
    "LetGo",
    "GroupHalted",
  ],
  [
    "K23 does not hold the running autoscaler when control planes are halted",
    { released: "ControlPlane", control: halted, isHeld: false, autoscalers: "On" },
    "Wait",
    "GroupHalted",
  ],
  [
    "K23 releases the autoscaler, and no worker, while control planes wait for their window",
    { released: "ControlPlane", control: { atRest: 1, waiting: ['group "cp" waits: OutsideWindow'] } },
    "LetGo",
    "OutsideWindow",
  ],
  [
    "K24 keeps the autoscaler held when control planes are halted while workers still roll",
    { released: "ControlPlane", control: halted, workers: { moving: 1 } },
    "Wait",
    "GroupHalted",
  ],
  [
    "C12, K23 releases workers when the control planes are done",
    { released: "ControlPlane", control: done },
    "Release Workers",
    "Rolling",
  ],
  [
    "K23 releases workers when the control planes were up to date before any release",
    { control: done },
    "Release Workers",
    "Rolling",
  ],
  ["K23 waits while workers roll after the control planes", { released: "Workers", control: done }, "Wait", "Rolling"],
  [
    "K23 releases control planes when they are outdated again while workers roll",
    { released: "Workers", control: { done: 1 }, workers: { moving: 1 } },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K24 holds the running autoscaler before it releases control planes that are outdated again",
    { released: "Workers", isHeld: false, autoscalers: "On" },
    "Hold",
    "HoldingAutoscaler",
  ],
  [
    "K23 releases control planes when only the workers are done",
    { released: "Workers", workers: done },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K23 releases control planes when every node is up to date but their group has not adopted the image",
    { isSettled: true, control: { outdated: 0 }, workers: done },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K23 is done when control planes and workers are up to date",
    { isSettled: true, isHeld: false, control: done, workers: done },
    "Done",
    "UpToDate",
  ],
  [
    "C11, C12, K23 refuses both stages when control planes run other Kubernetes components",
    { isHeld: false, control: { skewed: 1 } },
    "Wait",
    "ControlPlaneRefused",
  ],
  [
    "K23 ends the release of workers when control planes run other Kubernetes components",
    { released: "Workers", control: { skewed: 1 } },
    "EndRelease",
    "ControlPlaneRefused",
  ],
  [
    "K23 releases the autoscaler when control planes run other Kubernetes components and no stage is released",
    { control: { skewed: 1 } },
    "LetGo",
    "ControlPlaneRefused",
  ],
  [
    "K23 keeps the autoscaler held while workers still roll and control planes run other Kubernetes components",
    { control: { skewed: 1 }, workers: { moving: 1 } },
    "Wait",
    "ControlPlaneRefused",
  ],
  [
    "K5, K23 does not treat a new control plane without annotations as running other Kubernetes components",
    { released: "ControlPlane", control: { skewed: 1, unannounced: 1, moving: 1 } },
    "Wait",
    "Rolling",
  ],
  [
    "K5, K23 refuses control planes when one has no annotations yet and another one runs other Kubernetes components",
    { control: { outdated: 2, skewed: 2, unannounced: 1 } },
    "LetGo",
    "ControlPlaneRefused",
  ],
  [
    "K23 begins an upgrade before any stage when control planes run other Kubernetes components that Ostler can upgrade",
    { isHeld: false, control: { skewed: 3 }, upgrade: possible },
    "Upgrade",
    "UpgradingKubernetes",
  ],
  [
    "K23 begins an upgrade when the desired version is newer than an API server that Ostler can upgrade",
    { isHeld: false, control: { outdated: 3 }, upgrade: possible, trouble: tooNew },
    "Upgrade",
    "UpgradingKubernetes",
  ],
  [
    "K23 waits when the desired version is newer than an API server that belongs to no scaling group",
    { isHeld: false, control: { groups: 0, outdated: 0 }, upgrade: possible, trouble: tooNew },
    "Wait",
    "KubernetesTooNew",
  ],
  [
    "fault K23 ends the release of workers when the desired version is newer than an API server of no scaling group",
    { isHeld: false, control: { groups: 0, outdated: 0 }, trouble: tooNew, released: "Workers" },
    "EndRelease",
    "KubernetesTooNew",
  ],
  [
    "K23 ends the release of workers when control planes need an upgrade",
    { released: "Workers", control: { skewed: 3 }, upgrade: possible },
    "EndRelease",
    "UpgradingKubernetes",
  ],
  [
    "K24 releases the autoscaler when control planes need an upgrade and no stage is released",
    { control: { skewed: 3 }, upgrade: possible },
    "LetGo",
    "UpgradingKubernetes",
  ],
  [
    "K24 begins the upgrade of control planes with the autoscaler held while workers still roll",
    { control: { skewed: 3 }, workers: { moving: 1 }, upgrade: possible },
    "Upgrade",
    "UpgradingKubernetes",
  ],
  [
    "K24 holds the running autoscaler before the upgrade of control planes while workers still roll",
    { isHeld: false, autoscalers: "On", control: { skewed: 3 }, workers: { moving: 1 }, upgrade: possible },
    "Hold",
    "UpgradingKubernetes",
  ],
  [
    "K23 releases no stage when a person cancelled the upgrade",
    { isHeld: false, control: { skewed: 3 }, upgrade: { ...possible, state: "Cancelled" } },
    "Wait",
    "UpgradeCancelled",
  ],
  [
    "K23 releases control planes, which then get their image, when the upgrade is complete",
    { control: { outdated: 3 }, upgrade: { ...possible, says: "" } },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "releases control planes in a cluster without workers",
    { workers: { groups: 0, outdated: 0 } },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K24 releases the autoscaler in a cluster without workers when the control planes are done, even if a node has an unknown version",
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

Deno.test("K23 nextStep: reports why it cannot begin stage ControlPlane, and that workers wait for the control planes", () => {
  equal(
    nextStep(seen({ control: { outdated: 3, skewed: 2 } })).standing.message,
    'Cannot begin stage "ControlPlane": 2 of its nodes run components that are unknown or ' +
      "differ from the desired ones, and Ostler upgrades Kubernetes only if its worker has setting hands-image; " +
      "workers wait, because a kubelet must not be newer than its API server",
  );
});

Deno.test("nextStep: reports that control plane groups have not adopted the desired state when all their nodes run it", () => {
  const { standing } = nextStep(
    seen({ isSettled: true, released: "ControlPlane", control: { outdated: 0, moving: 1 } }),
  );
  equal(standing.message, "Waiting for the control plane groups to take up the desired state");
});
