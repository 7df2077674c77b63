import { deepEqual, match, ok } from "node:assert/strict";
import type { ControlPlaneState, UpgradeCheck, UpgradeFinding } from "../../../../workflows/contracts/mod.ts";
import { nextUpgradeStep } from "../../../../workflows/kubernetes/next_upgrade_step.ts";
import {
  controlPlane,
  type PresentUpgrade,
  surveyedUpgrade,
  upgraded,
  versions,
} from "../../../support/upgrade_surveys.ts";

const clean: UpgradeCheck = { digest: "d", findings: [] };
const { old, desired } = versions;

function foundBy(...findings: Partial<UpgradeFinding>[]): UpgradeCheck {
  return {
    digest: "d",
    findings: findings.map((each) => ({ kind: "ApiRemoved", stops: true, message: "m", ...each })),
  };
}

/** The control planes "a", "b" and "c", of which "b" leads etcd. */
function planes(
  { a = {}, b = {}, c = {} }: Partial<Record<"a" | "b" | "c", Partial<ControlPlaneState>>> = {},
): Pick<PresentUpgrade, "controlPlanes"> {
  const b2 = { isLeader: true, ...b };
  return { controlPlanes: [controlPlane("c", c), controlPlane("b", b2), controlPlane("a", a)] };
}

function stepOf(differs: Partial<PresentUpgrade>, check: UpgradeCheck | null): string {
  const next = nextUpgradeStep(surveyedUpgrade(differs), check);
  const verb = "verb" in next ? ` ${next.verb}` : "";
  return `${next.step}${verb}${"controlPlane" in next ? ` ${next.controlPlane.node}` : ""}`;
}

const begun = { cluster: desired };
const half = { components: desired } as const;
const underWay = { isUnderWay: true, isCordoned: true } as const;
/** A control plane that is cordoned without a slot, because its slot ended during an outage or its mark is forged. */
const cordoned = { isCordoned: true } as const;

type Row = [what: string, differs: Partial<PresentUpgrade>, step: string, reason: string, check?: UpgradeCheck | null];

const order: Row[] = [
  ["nothing was checked: the check is first, on the first control plane", {}, "Check a", "Checking", null],
  ["the check is of another desired state", { digest: "e" }, "Check a", "Checking"],
  ["the first one applies", {}, "Upgrade Apply a", "Upgrading"],
  [
    "the second one follows by name, before the leader",
    { ...begun, ...planes({ a: upgraded }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "K23 the leader of etcd is last",
    { ...begun, ...planes({ a: upgraded, c: upgraded }) },
    "Upgrade Node b",
    "Upgrading",
  ],
  ["one under way goes first", { ...begun, ...planes({ a: upgraded, b: underWay }) }, "Upgrade Node b", "Upgrading"],
  [
    "one under way goes before one that is half done",
    { ...begun, ...planes({ a: half, b: { ...half, ...underWay } }) },
    "Upgrade Node b",
    "Upgrading",
  ],
  ["one that is half done goes first", { ...begun, ...planes({ c: half }) }, "Upgrade Node c", "Upgrading"],
  [
    "one whose kubelet was upgraded first counts as half done",
    { ...begun, ...planes({ c: { kubelet: desired } }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "the first one was interrupted before kubeadm recorded the version: it applies again, without another check",
    planes({ c: { ...half, ...underWay } }),
    "Upgrade Apply c",
    "Upgrading",
    null,
  ],
  [
    "one under way that has nothing of the version yet is checked again",
    planes({ c: underWay }),
    "Check c",
    "Checking",
    null,
  ],
  [
    "one that runs the version and is under way is finished, even if the approval is gone",
    { ...begun, approved: "", ...planes({ c: { ...upgraded, ...underWay, isAnnounced: false } }) },
    "Finish c",
    "Upgrading",
  ],
  [
    "the first one was interrupted after kubeadm recorded the version: the node itself completes its Apply",
    { ...begun, ...planes({ c: { ...half, ...underWay } }) },
    "Upgrade Node c",
    "Upgrading",
    null,
  ],
  [
    "one that was upgraded by hand is announced once all run the version",
    { ...begun, ...planes({ a: upgraded, b: upgraded, c: { ...upgraded, isAnnounced: false } }) },
    "Announce c",
    "Upgrading",
  ],
  [
    "other components of the version that all run",
    {
      ...begun,
      components: "components-3",
      ...planes({
        a: { ...upgraded, isAnnounced: false },
        b: { ...upgraded, isAnnounced: false },
        c: { ...upgraded, isAnnounced: false },
      }),
    },
    "Announce c",
    "Upgrading",
  ],
  [
    "one that runs the version and has lost its slot is finished",
    { ...begun, ...planes({ c: { ...upgraded, ...cordoned, isAnnounced: false } }) },
    "Finish c",
    "Upgrading",
  ],
  [
    "one that lost its slot goes before those that have nothing of the version",
    { ...begun, ...planes({ a: upgraded, b: cordoned }) },
    "Upgrade Node b",
    "Upgrading",
  ],
  ["all run the version", { ...begun, ...planes({ a: upgraded, b: upgraded, c: upgraded }) }, "Done", "UpToDate"],
  [
    "all run the version, which kubeadm has not recorded",
    planes({ a: upgraded, b: upgraded, c: upgraded }),
    "Upgrade Apply a",
    "Upgrading",
  ],
  [
    "K23 another one is not Ready: no other begins",
    { ...begun, ...planes({ a: { ...upgraded, isReady: false } }) },
    "Wait",
    "ControlPlaneNotReady",
  ],
  [
    "K23 the next one is not Ready: it does not begin, as it may be lost, and its group repairs it",
    { ...begun, ...planes({ a: upgraded, c: { isReady: false } }) },
    "Wait",
    "ControlPlaneNotReady",
  ],
  [
    "K23 one that is half done is not Ready and has no slot: its group repairs it",
    { ...begun, ...planes({ a: upgraded, c: { ...half, ...cordoned, isReady: false } }) },
    "Wait",
    "ControlPlaneNotReady",
  ],
  [
    "one that is not Ready is itself upgraded",
    { ...begun, ...planes({ a: upgraded, c: { ...underWay, isReady: false } }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "the cluster is done, and kubelets of workers are too old or too new: that is for their own rollout",
    {
      ...begun,
      ...planes({ a: upgraded, b: upgraded, c: upgraded }),
      workers: { nodes: 2, oldest: "v1.20.0", newest: "v1.37.0" },
    },
    "Done",
    "UpToDate",
  ],
];

const approval: Row[] = [
  ["no approval", { approved: "" }, "AwaitApproval", "AwaitingApproval"],
  ["another version is approved", { approved: old }, "AwaitApproval", "AwaitingApproval"],
  ["a later version is approved", { approved: "v1.36.2" }, "AwaitApproval", "AwaitingApproval"],
  ["the version is approved with other text", { approved: `${desired} ` }, "AwaitApproval", "AwaitingApproval"],
  ["the check comes before the approval", { approved: "" }, "Check a", "Checking", null],
  ["a finding that stops is reported first", { approved: "" }, "Wait", "ApiRemoved", foundBy({})],
  [
    "a finding that stops is not overridden by an approval",
    {},
    "Wait",
    "DrainImpossible",
    foundBy({ kind: "DrainImpossible" }),
  ],
  ["kubeadm refuses", {}, "Wait", "KubeadmRefuses", foundBy({ kind: "KubeadmRefuses" })],
  [
    "a finding that waits does not hide the question for approval",
    { approved: "" },
    "AwaitApproval",
    "AwaitingApproval",
    foundBy({ kind: "EtcdInDoubt", stops: false }),
  ],
  [
    "a finding that waits, after the approval",
    {},
    "Wait",
    "NodeNotReady",
    foundBy({ kind: "NodeNotReady", stops: false }),
  ],
  [
    "a finding that waits does not keep one under way from its end",
    planes({ a: underWay }),
    "Upgrade Apply a",
    "Upgrading",
    foundBy({ kind: "NodeNotReady", stops: false }),
  ],
  [
    "the approval is taken back after the first one: no other begins",
    { ...begun, approved: "", ...planes({ a: upgraded }) },
    "AwaitApproval",
    "AwaitingApproval",
  ],
  [
    "the approval is taken back while one is under way: that one is completed",
    { ...begun, approved: "", ...planes({ a: upgraded, c: underWay }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "the approval is taken back while one has only its slot: it gives the slot back",
    { ...begun, approved: "", ...planes({ a: upgraded, c: { isUnderWay: true } }) },
    "Release c",
    "AwaitingApproval",
  ],
  [
    "the approval is taken back while one is half done, and its cordon is lost: that one is completed",
    { ...begun, approved: "", ...planes({ a: upgraded, c: { ...half, isUnderWay: true } }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "K23 a forged mark replaces no approval",
    { ...begun, approved: "", ...planes({ a: upgraded, c: { ...cordoned, isReady: false } }) },
    "AwaitApproval",
    "AwaitingApproval",
  ],
  [
    "K23 a forged mark replaces no check",
    { approved: "", ...planes({ c: { ...half, ...cordoned, isReady: false } }) },
    "Check c",
    "Checking",
    null,
  ],
  [
    "K23 a forged mark overrides no finding",
    planes({ a: { ...cordoned, isReady: false } }),
    "Wait",
    "NodeNotReady",
    foundBy({ kind: "NodeNotReady", stops: false }),
  ],
  [
    "the version changed while one was drained: it serves again until the approval",
    { approved: "v1.36.0", ...planes({ a: underWay }) },
    "Release a",
    "AwaitingApproval",
  ],
  [
    "the version changed while one was half done: it stays cordoned until the approval",
    { approved: "v1.36.0", cluster: "v1.36.0", ...planes({ a: { ...underWay, components: "v1.36.0" } }) },
    "AwaitApproval",
    "AwaitingApproval",
  ],
  [
    "the previous version is desired again, and nothing was applied: the one under way is finished",
    { version: old, approved: "", ...planes({ a: underWay }) },
    "Finish a",
    "Upgrading",
  ],
];

const refusals: Row[] = [
  ["the version has no v", { version: "1.36.1" }, "Refuse", "VersionInvalid"],
  ["the version is a prerelease", { version: "v1.36.1-rc.0" }, "Refuse", "VersionInvalid"],
  ["the version of the cluster is unknown", { cluster: "" }, "Refuse", "VersionUnknown"],
  ["no control plane is known", { controlPlanes: [] }, "Refuse", "ControlPlaneUnknown"],
  ["K23 the components of one are unknown", planes({ b: { components: "" } }), "Refuse", "VersionUnknown"],
  ["K23 the kubelet of one is unknown", planes({ b: { kubelet: "v1.35.4-vendor.1" } }), "Refuse", "VersionUnknown"],
  [
    "the components of one under way are stopped",
    { ...begun, ...planes({ a: upgraded, c: { ...underWay, components: "" } }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "K23 a forged mark hides no unknown version",
    planes({ b: { ...cordoned, components: "" } }),
    "Refuse",
    "VersionUnknown",
  ],
  [
    "other components of a version that only some run",
    { ...begun, components: "components-3", ...planes({ a: { ...upgraded, isAnnounced: false } }) },
    "Refuse",
    "ComponentsChanged",
  ],
  [
    "other components while one is half done: it stays cordoned",
    { ...begun, ...planes({ a: { ...upgraded, isAnnounced: false }, c: { ...half, ...underWay } }) },
    "Refuse",
    "ComponentsChanged",
  ],
  ["an older patch version", { version: "v1.35.3" }, "Refuse", "Downgrade"],
  ["kubeadm recorded a later version than any control plane runs", { cluster: "v1.36.2" }, "Refuse", "Downgrade"],
  ["an older minor version", { version: "v1.34.9" }, "Refuse", "Downgrade"],
  ["one runs a later version than the desired one", planes({ c: { components: "v1.36.2" } }), "Refuse", "Downgrade"],
  ["a skipped minor version", { version: "v1.37.0" }, "Refuse", "MinorSkipped"],
  ["another major version", { version: "v2.0.0" }, "Refuse", "MinorSkipped"],
  ["one is a minor version behind the cluster", planes({ c: { components: "v1.34.9" } }), "Refuse", "MinorSkipped"],
  [
    "minor versions compare by number",
    { cluster: "v1.9.0", version: "v1.10.0", workers: { nodes: 0, oldest: "", newest: "" }, ...planes(nines()) },
    "Check a",
    "Checking",
    null,
  ],
  [
    "K23 a kubelet of a worker is later",
    { workers: { nodes: 1, oldest: "v1.36.2", newest: "v1.36.2" } },
    "Refuse",
    "KubeletTooNew",
  ],
  ["K23 the kubelet of a control plane is later", planes({ c: { kubelet: "v1.37.0" } }), "Refuse", "KubeletTooNew"],
  [
    "a kubelet is three minor versions older",
    { workers: { nodes: 1, oldest: "v1.33.0", newest: "v1.35.4" } },
    "Upgrade Apply a",
    "Upgrading",
  ],
  [
    "a kubelet is four minor versions older",
    { workers: { nodes: 1, oldest: "v1.32.11", newest: "v1.35.4" } },
    "Refuse",
    "KubeletTooOld",
  ],
  [
    "a kubelet of a control plane is four minor versions older",
    planes({ c: { kubelet: "v1.32.1" } }),
    "Refuse",
    "KubeletTooOld",
  ],
  [
    "a kubelet of a worker is unknown",
    { workers: { nodes: 1, oldest: "", newest: "v1.35.4" } },
    "Refuse",
    "VersionUnknown",
  ],
  ["the cluster has no workers", { workers: { nodes: 0, oldest: "", newest: "" } }, "Upgrade Apply a", "Upgrading"],
  [
    "K23 a downgrade while one is half done: it stays cordoned",
    { version: old, cluster: desired, ...planes({ a: { ...half, ...underWay } }) },
    "Refuse",
    "Downgrade",
  ],
  [
    "the survey has a failure",
    { trouble: { reason: "ComponentsMissing", message: "no ConfigMap" } },
    "Refuse",
    "ComponentsMissing",
  ],
  [
    "fault K23 the survey has a failure, but the version was taken back, so nothing is to be upgraded",
    {
      trouble: { reason: "NotKubeadm", message: "no ConfigMap" },
      ...{ cluster: "", ...planes({ a: upgraded, b: upgraded, c: upgraded }) },
    },
    "Done",
    "UpToDate",
  ],
  [
    "fault K23 the survey has a failure, and one control plane is not annotated",
    {
      trouble: { reason: "NotKubeadm", message: "no ConfigMap" },
      ...{ cluster: "", ...planes({ a: upgraded, b: upgraded, c: { ...upgraded, isAnnounced: false } }) },
    },
    "Refuse",
    "NotKubeadm",
  ],
  [
    "fault K23 the group of a cordoned one was moved to another NodeVersion: it serves once that has completed it",
    {
      trouble: { reason: "ControlPlaneUnknown", message: "in no group" },
      ...planes({ a: { ...upgraded, ...cordoned, group: "" } }),
    },
    "Release a",
    "ControlPlaneUnknown",
  ],
  [
    "K23 the group of a half done one was moved to another NodeVersion: it stays cordoned",
    {
      trouble: { reason: "ControlPlaneUnknown", message: "in no group" },
      ...planes({ a: { ...half, ...cordoned, group: "" } }),
    },
    "Refuse",
    "ControlPlaneUnknown",
  ],
  [
    "the survey has a failure while one is drained: it stays drained, as the failure can end by itself",
    { trouble: { reason: "HandsMissing", message: "no pod" }, ...planes({ a: underWay }) },
    "Refuse",
    "HandsMissing",
  ],
  [
    "a downgrade while one is drained: it serves again",
    { version: "v1.35.3", ...planes({ a: underWay }) },
    "Release a",
    "Downgrade",
  ],
];

function nines(): Parameters<typeof planes>[0] {
  const nine = { kubelet: "v1.9.0", components: "v1.9.0" };
  return { a: nine, b: nine, c: nine };
}

for (const [what, differs, step, reason, check = clean] of [...order, ...approval, ...refusals]) {
  Deno.test(`nextUpgradeStep: ${what}`, () => {
    deepEqual([stepOf(differs, check), nextUpgradeStep(surveyedUpgrade(differs), check).standing.reason], [
      step,
      reason,
    ]);
  });
}

Deno.test("K23 nextUpgradeStep: in any mix of states, no control plane begins beside one under way", () => {
  const states: Partial<ControlPlaneState>[] = [{}, half, underWay, { ...half, ...underWay }, upgraded];
  for (const a of states) {
    for (const b of states) {
      for (const c of states) {
        for (const cluster of [old, desired]) {
          const survey = surveyedUpgrade({ cluster, ...planes({ a, b, c }) });
          const next = nextUpgradeStep(survey, clean);
          if (next.step !== "Upgrade") continue;
          const isOther = survey.controlPlanes.some((each) => each.isUnderWay);
          ok(next.controlPlane.isUnderWay || !isOther, JSON.stringify(survey.controlPlanes));
        }
      }
    }
  }
});

Deno.test("nextUpgradeStep: asks for approval with the version, the number of control planes and the findings", () => {
  const check = foundBy({ kind: "EtcdInDoubt", stops: false, message: "member x is slow" });
  const { standing: { message } } = nextUpgradeStep(surveyedUpgrade({ approved: "" }), check);
  match(message, /approval to upgrade 3 control planes, one at a time, from Kubernetes "v1.35.4" to "v1.36.1"/);
  match(message, /only a restored etcd snapshot can revert/);
  match(message, /annotation ostler.dev\/approved-kubernetes: "v1.36.1"/);
  match(message, /findings: member x is slow/);
});

Deno.test("nextUpgradeStep: keeps messages short, whatever the number of findings and of control planes", () => {
  const findings = foundBy(...Array.from({ length: 500 }, () => ({ message: "x".repeat(5_000) })));
  ok(nextUpgradeStep(surveyedUpgrade(), findings).standing.message.length < 2_000);
  const controlPlanes = Array.from({ length: 99 }, (_, nth) => controlPlane(`n${nth}`, { components: "" }));
  const { standing: { message } } = nextUpgradeStep(surveyedUpgrade({ controlPlanes }), null);
  match(message, /"n0", "n1", "n2" and 96 more$/);
});

Deno.test("nextUpgradeStep: a half done control plane that waits is named in the status", () => {
  const row = { approved: "v1.36.0", cluster: "v1.36.0", ...planes({ a: { ...underWay, components: "v1.36.0" } }) };
  const { standing: { message } } = nextUpgradeStep(surveyedUpgrade(row), clean);
  match(message, /control plane "a" is half done and stays cordoned$/);
});

const several: [what: string, differs: Partial<PresentUpgrade>, said: RegExp][] = [
  [
    "are half done",
    {
      ...{ approved: "v1.36.0", cluster: "v1.36.0" },
      ...planes({ a: { ...underWay, components: "v1.36.0" }, c: { ...cordoned, components: "v1.36.0" } }),
    },
    /control planes "c", "a" are half done and stay cordoned$/,
  ],
  [
    "are not Ready",
    planes({ b: { isReady: false }, c: { isReady: false } }),
    /for control planes "c", "b" to be Ready/,
  ],
  [
    "run a later version",
    planes({ a: { components: "v1.37.0" }, b: { components: "v1.37.0" } }),
    /planes "b", "a" run/,
  ],
  [
    "are behind",
    planes({ b: { components: "v1.33.0" }, c: { components: "v1.33.0" } }),
    /planes "c", "b" are more than/,
  ],
  [
    "have later kubelets",
    planes({ b: { kubelet: "v1.37.0" }, c: { kubelet: "v1.37.0" } }),
    /: the kubelets of control planes "c", "b" are newer than that, and a kubelet must/,
  ],
  [
    "run other components",
    { ...begun, ...planes({ b: { ...upgraded, isAnnounced: false }, c: { ...upgraded, isAnnounced: false } }) },
    /: control planes "c", "b" run that version with components of another ConfigMap/,
  ],
];

for (const [what, differs, said] of several) {
  Deno.test(`nextUpgradeStep: names several control planes that ${what}`, () => {
    match(nextUpgradeStep(surveyedUpgrade(differs), clean).standing.message, said);
  });
}
