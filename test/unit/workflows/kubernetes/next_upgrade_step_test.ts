import { deepEqual, doesNotMatch, match, ok } from "node:assert/strict";
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
/**
 * A control plane that this upgrade seems to have cordoned, but without a slot: the slot ended during an outage, or
 * another client forged the upgrade's mark on the Node.
 */
const cordoned = { isCordoned: true } as const;

type Row = [what: string, differs: Partial<PresentUpgrade>, step: string, reason: string, check?: UpgradeCheck | null];

const order: Row[] = [
  ["checks the cluster on the first control plane when no check was made yet", {}, "Check a", "Checking", null],
  ["repeats the check when the last check was made for another desired state", { digest: "e" }, "Check a", "Checking"],
  ["runs kubeadm upgrade apply on the first control plane", {}, "Upgrade Apply a", "Upgrading"],
  [
    "upgrades the control plane that does not lead etcd before the one that does",
    { ...begun, ...planes({ a: upgraded }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "K23 upgrades the leader of etcd when every other control plane is upgraded",
    { ...begun, ...planes({ a: upgraded, c: upgraded }) },
    "Upgrade Node b",
    "Upgrading",
  ],
  [
    "continues the control plane in progress, even the leader of etcd, before it begins another one",
    { ...begun, ...planes({ a: upgraded, b: underWay }) },
    "Upgrade Node b",
    "Upgrading",
  ],
  [
    "continues the control plane in progress before a half-upgraded control plane without a slot",
    { ...begun, ...planes({ a: half, b: { ...half, ...underWay } }) },
    "Upgrade Node b",
    "Upgrading",
  ],
  [
    "completes a half-upgraded control plane before it begins another one",
    { ...begun, ...planes({ c: half }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "treats a control plane of which only the kubelet was upgraded as half-upgraded, and completes it first",
    { ...begun, ...planes({ c: { kubelet: desired } }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "repeats kubeadm upgrade apply without another check when kubeadm was interrupted before it recorded the version",
    planes({ c: { ...half, ...underWay } }),
    "Upgrade Apply c",
    "Upgrading",
    null,
  ],
  [
    "checks again before it continues a control plane in progress of which nothing is upgraded yet",
    planes({ c: underWay }),
    "Check c",
    "Checking",
    null,
  ],
  [
    "finishes a control plane in progress that runs the version, even if the approval was removed",
    { ...begun, approved: "", ...planes({ c: { ...upgraded, ...underWay, isAnnounced: false } }) },
    "Finish c",
    "Upgrading",
  ],
  [
    "runs kubeadm upgrade node when kubeadm upgrade apply was interrupted after it recorded the version",
    { ...begun, ...planes({ c: { ...half, ...underWay } }) },
    "Upgrade Node c",
    "Upgrading",
    null,
  ],
  [
    "annotates a control plane that a person has upgraded when all control planes run the version",
    { ...begun, ...planes({ a: upgraded, b: upgraded, c: { ...upgraded, isAnnounced: false } }) },
    "Announce c",
    "Upgrading",
  ],
  [
    "upgrades the other control planes when a person has upgraded one whose Node has no annotation with components",
    { ...begun, ...planes({ a: { ...upgraded, isAnnounced: false, isUnannotated: true } }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "annotates the control planes when all run the version and only the ConfigMap of components changed",
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
    "finishes a cordoned control plane that runs the version and has lost its slot",
    { ...begun, ...planes({ c: { ...upgraded, ...cordoned, isAnnounced: false } }) },
    "Finish c",
    "Upgrading",
  ],
  [
    "continues a cordoned control plane that lost its slot before it begins another one",
    { ...begun, ...planes({ a: upgraded, b: cordoned }) },
    "Upgrade Node b",
    "Upgrading",
  ],
  [
    "is done when all control planes run the version",
    { ...begun, ...planes({ a: upgraded, b: upgraded, c: upgraded }) },
    "Done",
    "UpToDate",
  ],
  [
    "runs kubeadm upgrade apply when all control planes run the version and kubeadm has not recorded it",
    planes({ a: upgraded, b: upgraded, c: upgraded }),
    "Upgrade Apply a",
    "Upgrading",
  ],
  [
    "K23 begins no control plane while an upgraded control plane is not Ready",
    { ...begun, ...planes({ a: { ...upgraded, isReady: false } }) },
    "Wait",
    "ControlPlaneNotReady",
  ],
  [
    "K23 does not begin a control plane that is not Ready, because it may be lost, and its group repairs it",
    { ...begun, ...planes({ a: upgraded, c: { isReady: false } }) },
    "Wait",
    "ControlPlaneNotReady",
  ],
  [
    "K23 waits when a half-upgraded control plane without a slot is not Ready, because its group repairs it",
    { ...begun, ...planes({ a: upgraded, c: { ...half, ...cordoned, isReady: false } }) },
    "Wait",
    "ControlPlaneNotReady",
  ],
  [
    "continues the control plane in progress even if it is not Ready",
    { ...begun, ...planes({ a: upgraded, c: { ...underWay, isReady: false } }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "is done when all control planes run the version, even if kubelets of workers are too old or too new",
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
  ["waits for an approval when none was given", { approved: "" }, "AwaitApproval", "AwaitingApproval"],
  ["waits for an approval when another version is approved", { approved: old }, "AwaitApproval", "AwaitingApproval"],
  [
    "waits for an approval when a later version is approved",
    { approved: "v1.36.2" },
    "AwaitApproval",
    "AwaitingApproval",
  ],
  [
    "waits for an approval when the approval has a space after the version",
    { approved: `${desired} ` },
    "AwaitApproval",
    "AwaitingApproval",
  ],
  ["checks the cluster before it asks for an approval", { approved: "" }, "Check a", "Checking", null],
  [
    "reports a finding that stops the upgrade before it asks for an approval",
    { approved: "" },
    "Wait",
    "ApiRemoved",
    foundBy({}),
  ],
  [
    "does not begin despite an approval when a finding stops the upgrade",
    {},
    "Wait",
    "DrainImpossible",
    foundBy({ kind: "DrainImpossible" }),
  ],
  [
    "does not begin when kubeadm refuses the upgrade",
    {},
    "Wait",
    "KubeadmRefuses",
    foundBy({ kind: "KubeadmRefuses" }),
  ],
  [
    "asks for an approval also when a finding delays the upgrade",
    { approved: "" },
    "AwaitApproval",
    "AwaitingApproval",
    foundBy({ kind: "EtcdInDoubt", stops: false }),
  ],
  [
    "waits after the approval while a finding delays the upgrade",
    {},
    "Wait",
    "NodeNotReady",
    foundBy({ kind: "NodeNotReady", stops: false }),
  ],
  [
    "continues the control plane in progress although a finding delays the upgrade",
    planes({ a: underWay }),
    "Upgrade Apply a",
    "Upgrading",
    foundBy({ kind: "NodeNotReady", stops: false }),
  ],
  [
    "begins no other control plane when the approval is removed after the first one",
    { ...begun, approved: "", ...planes({ a: upgraded }) },
    "AwaitApproval",
    "AwaitingApproval",
  ],
  [
    "completes the cordoned control plane in progress when the approval is removed",
    { ...begun, approved: "", ...planes({ a: upgraded, c: underWay }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "gives the slot back when the approval is removed before the control plane is cordoned",
    { ...begun, approved: "", ...planes({ a: upgraded, c: { isUnderWay: true } }) },
    "Release c",
    "AwaitingApproval",
  ],
  [
    "completes a half-upgraded control plane that lost its cordon when the approval is removed",
    { ...begun, approved: "", ...planes({ a: upgraded, c: { ...half, isUnderWay: true } }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "K23 does not treat a forged upgrade mark on a node as an approval",
    { ...begun, approved: "", ...planes({ a: upgraded, c: { ...cordoned, isReady: false } }) },
    "AwaitApproval",
    "AwaitingApproval",
  ],
  [
    "K23 does not treat a forged upgrade mark on a half-upgraded node as a completed check",
    { approved: "", ...planes({ c: { ...half, ...cordoned, isReady: false } }) },
    "Check c",
    "Checking",
    null,
  ],
  [
    "K23 does not ignore a finding because of a forged upgrade mark on a node",
    planes({ a: { ...cordoned, isReady: false } }),
    "Wait",
    "NodeNotReady",
    foundBy({ kind: "NodeNotReady", stops: false }),
  ],
  [
    "uncordons a drained control plane when the version changes, until the new version is approved",
    { approved: "v1.36.0", ...planes({ a: underWay }) },
    "Release a",
    "AwaitingApproval",
  ],
  [
    "keeps a half-upgraded control plane cordoned when the version changes, until the new version is approved",
    { approved: "v1.36.0", cluster: "v1.36.0", ...planes({ a: { ...underWay, components: "v1.36.0" } }) },
    "AwaitApproval",
    "AwaitingApproval",
  ],
  [
    "finishes the control plane in progress when the previous version is desired again and nothing was upgraded",
    { version: old, approved: "", ...planes({ a: underWay }) },
    "Finish a",
    "Upgrading",
  ],
];

const refusals: Row[] = [
  ["refuses a version without the prefix v", { version: "1.36.1" }, "Refuse", "VersionInvalid"],
  ["refuses a prerelease version", { version: "v1.36.1-rc.0" }, "Refuse", "VersionInvalid"],
  ["refuses when the version of the cluster is unknown", { cluster: "" }, "Refuse", "VersionUnknown"],
  ["refuses when no control plane is known", { controlPlanes: [] }, "Refuse", "ControlPlaneUnknown"],
  [
    "K23 refuses when the version of a control plane's components is unknown",
    planes({ b: { components: "" } }),
    "Refuse",
    "VersionUnknown",
  ],
  [
    "K23 refuses when the version of a control plane's kubelet is unknown",
    planes({ b: { kubelet: "v1.35.4-vendor.1" } }),
    "Refuse",
    "VersionUnknown",
  ],
  [
    "continues the control plane in progress while its components are stopped",
    { ...begun, ...planes({ a: upgraded, c: { ...underWay, components: "" } }) },
    "Upgrade Node c",
    "Upgrading",
  ],
  [
    "K23 refuses when a control plane with a forged upgrade mark has components of unknown version",
    planes({ b: { ...cordoned, components: "" } }),
    "Refuse",
    "VersionUnknown",
  ],
  [
    "refuses another ConfigMap of components when only some control planes run the version",
    { ...begun, components: "components-3", ...planes({ a: { ...upgraded, isAnnounced: false } }) },
    "Refuse",
    "ComponentsChanged",
  ],
  [
    "keeps a half-upgraded control plane cordoned when it refuses another ConfigMap of components",
    { ...begun, ...planes({ a: { ...upgraded, isAnnounced: false }, c: { ...half, ...underWay } }) },
    "Refuse",
    "ComponentsChanged",
  ],
  ["refuses an older patch version", { version: "v1.35.3" }, "Refuse", "Downgrade"],
  [
    "refuses a version older than the one that kubeadm recorded, even if no control plane runs that one",
    { cluster: "v1.36.2" },
    "Refuse",
    "Downgrade",
  ],
  ["refuses an older minor version", { version: "v1.34.9" }, "Refuse", "Downgrade"],
  [
    "refuses when a control plane runs a later version than the desired one",
    planes({ c: { components: "v1.36.2" } }),
    "Refuse",
    "Downgrade",
  ],
  ["refuses to skip a minor version", { version: "v1.37.0" }, "Refuse", "MinorSkipped"],
  ["refuses another major version", { version: "v2.0.0" }, "Refuse", "MinorSkipped"],
  [
    "refuses when a control plane is a minor version behind the cluster",
    planes({ c: { components: "v1.34.9" } }),
    "Refuse",
    "MinorSkipped",
  ],
  [
    "compares minor versions as numbers, so that v1.10 follows v1.9",
    { cluster: "v1.9.0", version: "v1.10.0", workers: { nodes: 0, oldest: "", newest: "" }, ...planes(nines()) },
    "Check a",
    "Checking",
    null,
  ],
  [
    "K23 refuses when the kubelet of a worker is newer than the desired version",
    { workers: { nodes: 1, oldest: "v1.36.2", newest: "v1.36.2" } },
    "Refuse",
    "KubeletTooNew",
  ],
  [
    "K23 refuses when the kubelet of a control plane is newer than the desired version",
    planes({ c: { kubelet: "v1.37.0" } }),
    "Refuse",
    "KubeletTooNew",
  ],
  [
    "upgrades when the kubelet of a worker is three minor versions older than the desired version",
    { workers: { nodes: 1, oldest: "v1.33.0", newest: "v1.35.4" } },
    "Upgrade Apply a",
    "Upgrading",
  ],
  [
    "refuses when the kubelet of a worker is four minor versions older than the desired version",
    { workers: { nodes: 1, oldest: "v1.32.11", newest: "v1.35.4" } },
    "Refuse",
    "KubeletTooOld",
  ],
  [
    "refuses when the kubelet of a control plane is four minor versions older than the desired version",
    planes({ c: { kubelet: "v1.32.1" } }),
    "Refuse",
    "KubeletTooOld",
  ],
  [
    "refuses when the version of a worker's kubelet is unknown",
    { workers: { nodes: 1, oldest: "", newest: "v1.35.4" } },
    "Refuse",
    "VersionUnknown",
  ],
  [
    "upgrades a cluster without workers",
    { workers: { nodes: 0, oldest: "", newest: "" } },
    "Upgrade Apply a",
    "Upgrading",
  ],
  [
    "K23 keeps a half-upgraded control plane cordoned when it refuses a downgrade",
    { version: old, cluster: desired, ...planes({ a: { ...half, ...underWay } }) },
    "Refuse",
    "Downgrade",
  ],
  [
    "refuses with the reason of the failure when the survey failed",
    { trouble: { reason: "ComponentsMissing", message: "no ConfigMap" } },
    "Refuse",
    "ComponentsMissing",
  ],
  [
    "fault K23 is done despite a failed survey when all control planes already run the desired version",
    {
      trouble: { reason: "NotKubeadm", message: "no ConfigMap" },
      ...{ cluster: "", ...planes({ a: upgraded, b: upgraded, c: upgraded }) },
    },
    "Done",
    "UpToDate",
  ],
  [
    "fault K23 refuses after a failed survey when a control plane runs the version without its annotation",
    {
      trouble: { reason: "NotKubeadm", message: "no ConfigMap" },
      ...{ cluster: "", ...planes({ a: upgraded, b: upgraded, c: { ...upgraded, isAnnounced: false } }) },
    },
    "Refuse",
    "NotKubeadm",
  ],
  [
    "fault K23 uncordons an upgraded control plane whose group was moved to another NodeVersion",
    {
      trouble: { reason: "ControlPlaneUnknown", message: "in no group" },
      ...planes({ a: { ...upgraded, ...cordoned, group: "" } }),
    },
    "Release a",
    "ControlPlaneUnknown",
  ],
  [
    "K23 keeps a half-upgraded control plane cordoned when its group was moved to another NodeVersion",
    {
      trouble: { reason: "ControlPlaneUnknown", message: "in no group" },
      ...planes({ a: { ...half, ...cordoned, group: "" } }),
    },
    "Refuse",
    "ControlPlaneUnknown",
  ],
  [
    "keeps a drained control plane cordoned after a failed survey, because the failure can end by itself",
    { trouble: { reason: "HandsMissing", message: "no pod" }, ...planes({ a: underWay }) },
    "Refuse",
    "HandsMissing",
  ],
  [
    "uncordons a drained control plane when it refuses a downgrade",
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

Deno.test("K23 nextUpgradeStep: begins no control plane while another one is in progress, whatever their states", () => {
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

Deno.test("nextUpgradeStep: names in its message a half-upgraded control plane that waits for an approval", () => {
  const row = { approved: "v1.36.0", cluster: "v1.36.0", ...planes({ a: { ...underWay, components: "v1.36.0" } }) };
  const { standing: { message } } = nextUpgradeStep(surveyedUpgrade(row), clean);
  match(message, /control plane "a" is half done and stays cordoned$/);
});

Deno.test("nextUpgradeStep: does not call a control plane half done or cordoned that only holds the slot", () => {
  const said = (a: Partial<ControlPlaneState>): string => {
    const row = { approved: "v1.36.0", ...planes({ a: { isReady: false, ...a }, b: { kubelet: "" } }) };
    return nextUpgradeStep(surveyedUpgrade(row), clean).standing.message;
  };
  doesNotMatch(said({ isUnderWay: true }), /half done|stays cordoned/);
  match(said({ isUnderWay: true, ...half }), /control plane "a" is half done$/);
  match(said(cordoned), /control plane "a" stays cordoned$/);
});

const several: [what: string, differs: Partial<PresentUpgrade>, said: RegExp][] = [
  [
    "are half-upgraded",
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
    "run components of another ConfigMap",
    { ...begun, ...planes({ b: { ...upgraded, isAnnounced: false }, c: { ...upgraded, isAnnounced: false } }) },
    /: control planes "c", "b" run that version with components of another ConfigMap/,
  ],
];

for (const [what, differs, said] of several) {
  Deno.test(`nextUpgradeStep: names several control planes that ${what}`, () => {
    match(nextUpgradeStep(surveyedUpgrade(differs), clean).standing.message, said);
  });
}
