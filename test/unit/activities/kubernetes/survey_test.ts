import { deepEqual, equal, match, notEqual, rejects } from "node:assert/strict";
import { awaitUpgradeChanged, surveyUpgrade, type UpgradeReader } from "../../../../activities/kubernetes/survey.ts";
import { unavailable } from "../../../../activities/failures.ts";
import type { ControlPlaneState, UpgradeSurvey } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer } from "../../../support/fake_kube.ts";
import { componentsOf, current, desired, UpgradeStage } from "../../../support/upgrade_stage.ts";

type Present = Extract<UpgradeSurvey, { state: "Present" }>;

function readerOf(stage: UpgradeStage, hasHands = true): UpgradeReader {
  return { kube: stage.client, profileNamespace: "profiles", hasHands };
}

async function look(stage: UpgradeStage, hasHands = true): Promise<Present> {
  const seen = await surveyUpgrade(readerOf(stage, hasHands), { object: stage.object });
  if (seen.state === "Gone") throw new Error("Failed to survey: the NodeVersion is gone");
  return seen;
}

async function plane(stage: UpgradeStage, node = "workers-1"): Promise<ControlPlaneState | undefined> {
  return (await look(stage)).controlPlanes.find((each) => each.node === node);
}

Deno.test("K23 surveyUpgrade: returns the desired version, the version of each control plane, and the oldest and newest version of the workers", async () => {
  const stage = new UpgradeStage();
  stage.worker("w-1", "v1.34.2");
  stage.worker("w-2", "v1.35.3-vendor.1");
  stage.worker("w-3", "");
  const { fingerprint, digest, controlPlanes, ...rest } = await look(stage);
  match(fingerprint, /^[0-9a-f]{16}$/);
  match(digest, /^[0-9a-f]{64}$/);
  deepEqual(rest, {
    ...{ state: "Present", version: desired, components: "components-2", cluster: current, approved: "", retry: "" },
    ...{ trouble: null, workers: { nodes: 3, oldest: "v1.34.2", newest: "v1.35.3" } },
  });
  deepEqual(controlPlanes.map(({ node }) => node), ["workers-1", "workers-2", "workers-3"]);
  deepEqual(controlPlanes[0], {
    ...{ node: "workers-1", uid: "uid-of-workers-1", group: "workers", machine: "workers-1" },
    ...{ kubelet: current, components: current, isReady: true, isLeader: true },
    ...{ isAnnounced: false, isUnderWay: false, isCordoned: false },
  });
  deepEqual(controlPlanes.map(({ isLeader }) => isLeader), [true, false, false]);
});

Deno.test("K23 surveyUpgrade: returns no version of the workers when the kubelet of one reports a text that is not a version", async () => {
  const stage = new UpgradeStage();
  stage.worker("w-1", "v1.34.2");
  stage.worker("w-2", "development");
  const { workers } = await look(stage);
  deepEqual(workers, { nodes: 2, oldest: "", newest: "" });
});

Deno.test("surveyUpgrade: returns Gone when the NodeVersion does not exist or is being deleted", async () => {
  const stage = new UpgradeStage();
  const { metadata } = stage.kube.get("nodeversions", "v") ?? {};
  Object.assign(metadata ?? {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  const reader = readerOf(stage);
  deepEqual(await surveyUpgrade(reader, { object: stage.object }), { state: "Gone" });
  deepEqual(await surveyUpgrade(reader, { object: { name: "none" } }), { state: "Gone" });
});

type Case = [what: string, reason: string, text: RegExp, change: (stage: UpgradeStage) => void];

const kubeletOnly = JSON.stringify(componentsOf(desired).slice(0, 1));
const bare = JSON.stringify(componentsOf(desired).map((each) => ({ ...each, hash: "sha256:00" })));

const troubles: Case[] = [
  ["no version", "VersionInvalid", /does not name a Kubernetes version/, (stage) => stage.want("")],
  [
    "a version without v",
    "VersionInvalid",
    /has invalid Kubernetes version "1\.36\.1"/,
    (stage) => stage.want("1.36.1"),
  ],
  ["a release candidate", "VersionInvalid", /v1\.37\.0-rc\.0/, (stage) => stage.want("v1.37.0-rc.0")],
  [
    "no ConfigMap",
    "ComponentsMissing",
    /"kube-system\/components-2" does not exist/,
    (stage) => stage.kube.remove("configmaps", "components-2", "kube-system"),
  ],
  [
    "a ConfigMap without its key",
    "ComponentsMissing",
    /does not have key "components"/,
    (stage) => stage.configMap("components-2", { other: "" }),
  ],
  ["no JSON", "ComponentsInvalid", /is not a JSON list of components$/, (stage) => stage.want(desired, "[{")],
  ["no kubeadm", "ComponentsInvalid", /kubeadm is missing/, (stage) => stage.want(desired, kubeletOnly)],
  ["a short hash", "ComponentsInvalid", /the hash of kubelet is not "sha256:"/, (stage) => stage.want(desired, bare)],
  [
    "no kubeadm-config",
    "NotKubeadm",
    /"kube-system\/kubeadm-config"/,
    (stage) => stage.kube.remove("configmaps", "kubeadm-config", "kube-system"),
  ],
  [
    "a kubeadm-config that is not YAML",
    "NotKubeadm",
    /does not have a kubernetesVersion/,
    (stage) => stage.configMap("kubeadm-config", { ClusterConfiguration: "a: [" }),
  ],
  [
    "an image without a plain tag",
    "ControlPlaneUnknown",
    /node "workers-2" does not run the static pods/,
    (stage) => stage.part("workers-2", "kube-scheduler", "latest"),
  ],
  [
    "a pod that no kubelet mirrors",
    "ControlPlaneUnknown",
    /node "workers-1"/,
    (stage) => stage.part("workers-1", "kube-apiserver", desired, { isMirror: false }),
  ],
  [
    "a static pod of another node",
    "ControlPlaneUnknown",
    /node "workers-1"/,
    (stage) => stage.part("workers-1", "kube-apiserver", desired, { on: "w-1" }),
  ],
  [
    "a kubelet of a vendor",
    "ControlPlaneUnknown",
    /the kubelet of node "workers-3"/,
    (stage) => stage.kubelet("workers-3", "v1.35.3+k3s1"),
  ],
  [
    "a control plane in no group",
    "ControlPlaneUnknown",
    /node "cp-9" does not belong to a control plane ScalingGroup/,
    (stage) => {
      stage.worker("cp-9", current);
      const { metadata } = stage.kube.get("nodes", "cp-9") ?? {};
      Object.assign(metadata ?? {}, { labels: { "node-role.kubernetes.io/control-plane": "" } });
    },
  ],
];

for (const [what, reason, text, change] of troubles) {
  Deno.test(`K23 surveyUpgrade: reports ${reason} for ${what}`, async () => {
    const stage = new UpgradeStage();
    change(stage);
    const { trouble } = await look(stage);
    equal(trouble?.reason, reason);
    match(trouble?.message ?? "", text);
  });
}

Deno.test("surveyUpgrade: reports HandsMissing when setting hands-image is empty", async () => {
  const { trouble } = await look(new UpgradeStage(), false);
  equal(trouble?.reason, "HandsMissing");
  match(
    trouble?.message ?? "",
    /^Cannot upgrade control planes: setting hands-image does not name an image by digest; /,
  );
});

Deno.test("fault K23 surveyUpgrade: returns the same fingerprint whether or not setting hands-image is set, so that Ostler's workers with different settings do not end each other's waits", async () => {
  const stage = new UpgradeStage();
  equal((await look(stage, false)).fingerprint, (await look(stage)).fingerprint);
});

Deno.test("K23 surveyUpgrade: returns the version of the oldest component as the version of a control plane", async () => {
  const stage = new UpgradeStage();
  stage.part("workers-1", "kube-apiserver", `${desired}@sha256:${"b".repeat(64)}`);
  equal((await plane(stage))?.components, current);
  stage.part("workers-1", "kube-controller-manager", desired);
  stage.part("workers-1", "kube-scheduler", desired);
  equal((await plane(stage))?.components, desired);
});

Deno.test("surveyUpgrade: distinguishes a control plane without an annotation of components from one whose annotation names other components", async () => {
  const stage = new UpgradeStage();
  const annotate = (annotations: Record<string, string>): void =>
    void Object.assign(stage.kube.get("nodes", "workers-1")?.metadata ?? {}, { annotations });
  const found = async (): Promise<[boolean | undefined, boolean | undefined]> => {
    const { isAnnounced, isUnannotated } = await plane(stage) ?? {};
    return [isAnnounced, isUnannotated];
  };
  annotate({});
  deepEqual(await found(), [false, true]);
  annotate({ "constellation.edgeless.systems/kubernetes-components": "components-1" });
  deepEqual(await found(), [false, undefined]);
  annotate({ "constellation.edgeless.systems/kubernetes-components": "components-2" });
  deepEqual(await found(), [true, undefined]);
});

/** Writes a slot of the control planes as `ensureSlotTaken` does. */
function slot(stage: UpgradeStage, key: string): void {
  const metadata = { namespace: "profiles", name: "ostler-control-planes" };
  stage.kube.put("configmaps", { metadata, data: { [key]: "2026-01-01T00:00:00.000Z" } });
}

Deno.test("K23 surveyUpgrade: treats a control plane as under way only while this upgrade has a slot for it, whatever annotations the node has", async () => {
  const stage = new UpgradeStage();
  const underWay = async (): Promise<boolean[]> =>
    (await look(stage)).controlPlanes.map(({ isUnderWay }) => isUnderWay);
  const holder = "scaling-group/kube-system/upgrade-kubernetes.v";
  const forged = { "ostler.dev/cordoned-by": holder, "ostler.dev/scale-down-disabled-by": holder };
  Object.assign(stage.kube.get("nodes", "workers-1")?.metadata ?? {}, { annotations: forged });
  deepEqual(await underWay(), [false, false, false]);
  slot(stage, "kube-system_upgrade-kubernetes.other_workers-2");
  deepEqual(await underWay(), [false, false, false]);
  slot(stage, "kube-system_scaling-group.workers_workers-2");
  deepEqual(await underWay(), [false, false, false]);
  slot(stage, "kube-system_upgrade-kubernetes.v_workers-2");
  deepEqual(await underWay(), [false, true, false]);
});

Deno.test("surveyUpgrade: reports a node as cordoned by the upgrade, also if the node was already cordoned before", async () => {
  const stage = new UpgradeStage();
  const mark = (node: string, annotations: Record<string, string>): void =>
    void Object.assign(stage.kube.get("nodes", node)?.metadata ?? {}, { annotations });
  const holder = "scaling-group/kube-system/upgrade-kubernetes.v";
  mark("workers-1", { "ostler.dev/cordoned-by": "scaling-group/kube-system/upgrade-kubernetes.other" });
  mark("workers-2", { "ostler.dev/cordoned-by": holder });
  mark("workers-3", { "ostler.dev/scale-down-disabled-by": holder });
  deepEqual((await look(stage)).controlPlanes.map(({ isCordoned }) => isCordoned), [false, true, true]);
});

Deno.test("surveyUpgrade: counts a cordon of the same upgrade, also from before the cluster was renamed, and no other cordon", async () => {
  const stage = new UpgradeStage();
  const of = async (cluster: string): Promise<boolean[]> => {
    const seen = await surveyUpgrade(readerOf(stage), { object: { cluster, ...stage.object } });
    return seen.state === "Gone" ? [] : seen.controlPlanes.map(({ isCordoned }) => isCordoned);
  };
  const upgrade = "scaling-group/kube-system/upgrade-kubernetes";
  const holders = { "workers-1": `east/${upgrade}.v`, "workers-2": `${upgrade}.v`, "workers-3": `${upgrade}.other` };
  for (const [node, holder] of Object.entries(holders)) {
    const annotations = { "ostler.dev/cordoned-by": holder };
    Object.assign(stage.kube.get("nodes", node)?.metadata ?? {}, { annotations });
  }
  deepEqual([await of("east"), await of("west")], [[true, true, false], [true, true, false]]);
});

Deno.test("surveyUpgrade: tolerates a missing static pod on a control plane whose upgrade is under way", async () => {
  const stage = new UpgradeStage();
  slot(stage, "kube-system_upgrade-kubernetes.v_workers-3");
  stage.kube.remove("pods", "kube-scheduler-workers-3", "kube-system");
  deepEqual([(await look(stage)).trouble, (await plane(stage, "workers-3"))?.components], [null, ""]);
});

Deno.test("surveyUpgrade: returns no leader, and does not fail, while etcd does not answer", async () => {
  const stage = new UpgradeStage();
  stage.etcd.fault = unavailable("Failed to survey etcd: no endpoint responds");
  const { controlPlanes, trouble } = await look(stage);
  deepEqual([controlPlanes.some(({ isLeader }) => isLeader), trouble], [false, null]);
});

Deno.test("surveyUpgrade: assigns a node to no group when another node has the same provider ID", async () => {
  const stage = new UpgradeStage();
  const { providerID } = stage.kube.get("nodes", "workers-1")?.["spec"] as { providerID: string };
  stage.kube.put("nodes", { metadata: { name: "twin" }, spec: { providerID } });
  equal((await plane(stage))?.group, "");
});

Deno.test("surveyUpgrade: changes its digest only with version and components, and its fingerprint also with approval and retry", async () => {
  const stage = new UpgradeStage();
  const first = await look(stage);
  deepEqual(await look(stage), first);
  const annotations = { "ostler.dev/approved-kubernetes": desired, "ostler.dev/retry-kubernetes": "1" };
  Object.assign(stage.kube.get("nodeversions", "v")?.metadata ?? {}, { annotations });
  const approved = await look(stage);
  deepEqual([approved.approved, approved.retry, approved.digest], [desired, "1", first.digest]);
  notEqual(approved.fingerprint, first.fingerprint);
  stage.want(desired, JSON.stringify(componentsOf("v1.36.2")));
  notEqual((await look(stage)).digest, first.digest);
});

Deno.test("surveyUpgrade: lists only nodes and ScalingGroups, and writes nothing", async () => {
  const stage = new UpgradeStage();
  const lists = new Set<string>();
  stage.kube.onRequest = (request) => void (request.startsWith("list ") && lists.add(request.trim()));
  await look(stage);
  deepEqual([[...lists].sort(), stage.kube.writes], [["list nodes", "list scalinggroups"], []]);
});

Deno.test("surveyUpgrade: fails with a retryable error when the API server does not answer", async () => {
  const stage = new UpgradeStage();
  stage.kube.onRequest = (request) => {
    if (request === "get configmaps kube-system/kubeadm-config") throw answer(503, "ServiceUnavailable");
  };
  await rejects(look(stage), { type: "ApiUnavailable", nonRetryable: false });
});

Deno.test("awaitUpgradeChanged: ends after a change, after the deletion of the NodeVersion, and at its deadline", async () => {
  const stage = new UpgradeStage();
  const { fingerprint } = await look(stage);
  const wait = (until: number): Promise<void> =>
    inActivity(() => awaitUpgradeChanged(readerOf(stage), { object: stage.object, fingerprint, until }));
  await wait(Date.now() - 1);
  stage.kubelet("workers-1", desired);
  await wait(Date.now() + 60_000);
  stage.kube.remove("nodeversions", "v");
  await wait(Date.now() + 60_000);
});
