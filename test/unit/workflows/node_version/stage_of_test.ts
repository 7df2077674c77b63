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
 * Returns a survey with one group of each stage: neither has the desired version, nothing is released, and no
 * autoscaler runs.
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
  ["C11, K23 control planes have another image: they are released first", {}, "Release ControlPlane", "Rolling"],
  [
    "K23 nodes of control planes are outdated, though their groups are done",
    { control: { done: 1 } },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K23 a group of control planes has not taken the image up, though its nodes run it",
    { control: { outdated: 0 } },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K23 control planes are rolling: workers wait",
    { released: "ControlPlane", control: { moving: 1 } },
    "Wait",
    "Rolling",
  ],
  [
    "K23 control planes are halted: no worker is released, and the autoscaler is released",
    { released: "ControlPlane", control: halted },
    "LetGo",
    "GroupHalted",
  ],
  [
    "K23 control planes are halted, and the autoscaler runs",
    { released: "ControlPlane", control: halted, isHeld: false, autoscalers: "On" },
    "Wait",
    "GroupHalted",
  ],
  [
    "K23 control planes wait for their window: workers wait too",
    { released: "ControlPlane", control: { atRest: 1, waiting: ['group "cp" waits: OutsideWindow'] } },
    "LetGo",
    "OutsideWindow",
  ],
  [
    "K24 control planes are halted while workers that began continue: the autoscaler stays held",
    { released: "ControlPlane", control: halted, workers: { moving: 1 } },
    "Wait",
    "GroupHalted",
  ],
  [
    "C12, K23 control planes are done: workers are released",
    { released: "ControlPlane", control: done },
    "Release Workers",
    "Rolling",
  ],
  ["K23 control planes were done before any release", { control: done }, "Release Workers", "Rolling"],
  ["K23 control planes are done, and workers roll", { released: "Workers", control: done }, "Wait", "Rolling"],
  [
    "K23 control planes are outdated again while workers roll: they are released first; workers that began continue",
    { released: "Workers", control: { done: 1 }, workers: { moving: 1 } },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K24 control planes are outdated again, and the autoscaler runs: it is held first",
    { released: "Workers", isHeld: false, autoscalers: "On" },
    "Hold",
    "HoldingAutoscaler",
  ],
  [
    "K23 workers are done before control planes",
    { released: "Workers", workers: done },
    "Release ControlPlane",
    "Rolling",
  ],
  [
    "K23 every node is up to date, and a group of control planes has not taken the image up",
    { isSettled: true, control: { outdated: 0 }, workers: done },
    "Release ControlPlane",
    "Rolling",
  ],
  ["K23 everything is done", { isSettled: true, isHeld: false, control: done, workers: done }, "Done", "UpToDate"],
  [
    "C11, C12, K23 control planes have other components: no worker precedes them",
    { isHeld: false, control: { skewed: 1 } },
    "Wait",
    "ControlPlaneRefused",
  ],
  [
    "K23 control planes have other components during a rollout: no further worker begins",
    { released: "Workers", control: { skewed: 1 } },
    "EndRelease",
    "ControlPlaneRefused",
  ],
  [
    "K23 control planes have other components, and nothing is released: the autoscaler is released",
    { control: { skewed: 1 } },
    "LetGo",
    "ControlPlaneRefused",
  ],
  [
    "K23 components of control planes changed while workers roll: the autoscaler is held until they are at rest",
    { control: { skewed: 1 }, workers: { moving: 1 } },
    "Wait",
    "ControlPlaneRefused",
  ],
  [
    "K5, K23 a new control plane has no annotations yet: this does not count as other components",
    { released: "ControlPlane", control: { skewed: 1, unannounced: 1, moving: 1 } },
    "Wait",
    "Rolling",
  ],
  [
    "K5, K23 one of two control planes has no annotations yet, and the other has other components",
    { control: { outdated: 2, skewed: 2, unannounced: 1 } },
    "LetGo",
    "ControlPlaneRefused",
  ],
  [
    "K23 control planes have other components, and Ostler can upgrade them: an upgrade begins before any stage",
    { isHeld: false, control: { skewed: 3 }, upgrade: possible },
    "Upgrade",
    "UpgradingKubernetes",
  ],
  [
    "K23 the version is newer than the API server, and Ostler can upgrade it",
    { isHeld: false, control: { outdated: 3 }, upgrade: possible, trouble: tooNew },
    "Upgrade",
    "UpgradingKubernetes",
  ],
  [
    "K23 the version is newer than an API server that is not in a group",
    { isHeld: false, control: { groups: 0, outdated: 0 }, upgrade: possible, trouble: tooNew },
    "Wait",
    "KubernetesTooNew",
  ],
  [
    "fault K23 the version is newer than an API server that is not in a group, after a release: no further worker begins",
    { isHeld: false, control: { groups: 0, outdated: 0 }, trouble: tooNew, released: "Workers" },
    "EndRelease",
    "KubernetesTooNew",
  ],
  [
    "K23 control planes need an upgrade during a rollout: no further worker begins",
    { released: "Workers", control: { skewed: 3 }, upgrade: possible },
    "EndRelease",
    "UpgradingKubernetes",
  ],
  [
    "K24 control planes need an upgrade, and nothing is released: the autoscaler is released",
    { control: { skewed: 3 }, upgrade: possible },
    "LetGo",
    "UpgradingKubernetes",
  ],
  [
    "K24 control planes need an upgrade while workers roll: the autoscaler stays held beside the upgrade",
    { control: { skewed: 3 }, workers: { moving: 1 }, upgrade: possible },
    "Upgrade",
    "UpgradingKubernetes",
  ],
  [
    "K24 control planes need an upgrade while workers roll, and the autoscaler runs",
    { isHeld: false, autoscalers: "On", control: { skewed: 3 }, workers: { moving: 1 }, upgrade: possible },
    "Hold",
    "UpgradingKubernetes",
  ],
  [
    "K23 a person cancelled the upgrade: workers and images wait",
    { isHeld: false, control: { skewed: 3 }, upgrade: { ...possible, state: "Cancelled" } },
    "Wait",
    "UpgradeCancelled",
  ],
  [
    "K23 the upgrade is complete: control planes get their image first",
    { control: { outdated: 3 }, upgrade: { ...possible, says: "" } },
    "Release ControlPlane",
    "Rolling",
  ],
  ["there are no workers", { workers: { groups: 0, outdated: 0 } }, "Release ControlPlane", "Rolling"],
  [
    "K24 there are no workers, and the version of a node is unknown",
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

Deno.test("K23 nextStep: reports why control planes are refused, and that workers wait for them", () => {
  equal(
    nextStep(seen({ control: { outdated: 3, skewed: 2 } })).standing.message,
    'Cannot begin stage "ControlPlane": 2 of its nodes run other or unknown components, and Ostler upgrades ' +
      "Kubernetes only with setting hands-image; " +
      "workers wait, because a kubelet must not be newer than its API server",
  );
});

Deno.test("nextStep: names the groups that have not taken the image up when all nodes run it", () => {
  const { standing } = nextStep(
    seen({ isSettled: true, released: "ControlPlane", control: { outdated: 0, moving: 1 } }),
  );
  equal(standing.message, "Waiting for the control plane groups to take up the desired state");
});
