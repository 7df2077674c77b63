import { deepEqual, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { handOver, inheritanceOf, keptFrom } from "../../../../activities/backends/scaling_group/inheritance.ts";
import { ledgerAnnotations, withLegacy, written } from "../../../../activities/backends/scaling_group/ledger.ts";
import type { HandOverRules } from "../../../../activities/policy/hand_over_for.ts";

const all: HandOverRules = { labels: true, taints: true, annotations: ["team"], reservedDomains: [] };
const nothing = { labels: {}, annotations: {}, taints: [] };

Deno.test("inheritanceOf: keeps a node's own labels, and leaves out the labels of Kubernetes domains (4.10)", () => {
  const ofKubernetes = [
    ...["app.kubernetes.io/name", "kubernetes.io/arch", "node.kubernetes.io/instance-type", "k8s.io/x"],
    ...["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "node-role.kubernetes.io/worker"],
  ];
  const labels = Object.fromEntries([...ofKubernetes, "key", "notkubernetes.io/key"].map((key) => [key, "v"]));
  deepEqual(inheritanceOf({ ...nothing, labels }, all).labels, { key: "v", "notkubernetes.io/key": "v" });
});

Deno.test("K25 inheritanceOf: keeps roles, taints and annotations that the policy names, and no cordon", () => {
  const role = "node-role.kubernetes.io/database";
  const dedicated = { key: "dedicated", value: "db", effect: "NoSchedule" };
  const passing = ["node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"];
  const donor = {
    labels: { [role]: "" },
    annotations: { team: "a", other: "b" },
    taints: [dedicated, ...passing.map((key) => ({ key, effect: "NoSchedule" }))],
  };
  deepEqual(inheritanceOf(donor, { ...all, reservedDomains: ["node-role.kubernetes.io"] }), {
    labels: { [role]: "" },
    annotations: { team: "a" },
    taints: [dedicated],
  });
  deepEqual(inheritanceOf(donor, { ...all, labels: false, taints: false, annotations: [] }), nothing);
});

Deno.test("handOver: copies labels, annotations and taints of the old node over those of the new node, keeps all others of the new node, and is idempotent", () => {
  const kept = {
    labels: { zone: "a", same: "s" },
    annotations: { team: "a" },
    taints: [{ key: "dedicated", value: "db", effect: "NoSchedule" }],
  };
  const other = { key: "other", effect: "NoExecute" };
  const heir = {
    labels: { zone: "b", same: "s", own: "o" },
    annotations: {},
    taints: [{ key: "dedicated", value: "web", effect: "NoSchedule" }, other],
  };
  const patch = handOver(kept, heir);
  deepEqual(patch, { labels: { zone: "a" }, annotations: { team: "a" }, taints: [other, ...kept.taints] });
  const after = {
    labels: { ...heir.labels, ...patch.labels },
    annotations: { ...heir.annotations, ...patch.annotations },
    taints: patch.taints ?? [],
  };
  deepEqual(handOver(kept, after), { labels: {}, annotations: {} });
});

Deno.test("fault inheritanceOf: leaves out taints about the old instance, such as out-of-service, which evicts all pods of the new node and detaches their mounted volumes", () => {
  const passing = [
    "node.kubernetes.io/out-of-service",
    ...["disk-pressure", "memory-pressure", "pid-pressure"].map((name) => `node.kubernetes.io/${name}`),
    ...["node.cloudprovider.kubernetes.io/shutdown", "cloud.google.com/impending-node-termination"],
    ...["ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler", "NodeWithImpairedVolumes"],
    ...["ignore-taint", "startup-taint", "status-taint"].map((kind) => `${kind}.cluster-autoscaler.kubernetes.io/x`),
    ...["aws-node-termination-handler/spot-itn", "ebs.csi.aws.com/agent-not-ready"],
  ].map((key) => ({ key, value: "nodeshutdown", effect: "NoExecute" }));
  const kept = [
    { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" },
    { key: "dedicated", value: "db", effect: "NoSchedule" },
  ];
  deepEqual(inheritanceOf({ ...nothing, taints: [...passing, ...kept] }, all).taints, kept);
  // Records of earlier versions have such taints.
  deepEqual(keptFrom({ taints: [...passing, ...kept] }).taints, kept);
});

Deno.test("fault inheritanceOf: leaves out labels with the place or the name of the old node, because a kubelet refuses a CSI driver whose topology differs from the label", () => {
  const labels = {
    "kubernetes.io/hostname": "old-1",
    "topology.disk.csi.azure.com/zone": "westeurope-1",
    "topology.ebs.csi.aws.com/zone": "eu-west-1a",
    "topology.gke.io/zone": "europe-west3-a",
    "openebs.io/nodename": "old-1",
    "role.example": "",
    "example.com/topology": "a",
  };
  const kept = { "role.example": "", "example.com/topology": "a" };
  deepEqual(inheritanceOf({ ...nothing, labels }, all).labels, kept);
  const rack = { "topology.example.com/rack": "r1" };
  const rules = { ...all, reservedDomains: ["topology.example.com"] };
  deepEqual(inheritanceOf({ ...nothing, labels: { ...labels, ...rack } }, rules).labels, { ...kept, ...rack });
});

Deno.test("fault G13: inheritanceOf leaves out the annotation for the autoscaler that Ostler set itself", () => {
  const key = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
  const mark = "ostler.dev/scale-down-disabled-by";
  const rules = { ...all, annotations: [key, mark] };
  const own = { [key]: "true", [mark]: "scaling-group/kube-system/scaling-group.workers" };
  deepEqual(inheritanceOf({ ...nothing, annotations: own }, rules).annotations, {});
  deepEqual(inheritanceOf({ ...nothing, annotations: { [key]: "true" } }, rules).annotations, { [key]: "true" });
});

/** Maximum bytes of all annotations of an object, by the API server. */
const mostAnnotationBytes = 262_144;

/** Returns labels as a kubelet may write them on its own Node, as many as a compromised node likes. */
function flood(number: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: number }, (_, nth) => [`flood.example/${nth}-${"x".repeat(50)}`, "y".repeat(60)]),
  );
}

Deno.test("fault inheritanceOf: leaves out labels beyond 32 KiB, because the API server refuses the record of an order with more, and a compromised node could so prevent its replacement", () => {
  const taints = [{ key: "dedicated", value: "db", effect: "NoSchedule" }];
  const donor = { labels: { ...flood(3_000), "a.example/own": "kept" }, annotations: { team: "a" }, taints };
  const kept = inheritanceOf(donor, all);
  ok(JSON.stringify(kept).length < mostAnnotationBytes / 4, `${JSON.stringify(kept).length} bytes`);
  deepEqual([kept.labels["a.example/own"], kept.annotations, kept.taints], ["kept", { team: "a" }, taints]);
  deepEqual(inheritanceOf(donor, all), kept);
  const usual = { ...nothing, labels: flood(200) };
  deepEqual(inheritanceOf(usual, all), usual);
  const long = { ...nothing, annotations: { team: "é".repeat(100_000), short: "s" } };
  deepEqual(inheritanceOf(long, { ...all, annotations: ["team", "short"] }).annotations, { short: "s" });
});

Deno.test("fault withLegacy: keeps the newest legacies that fit into the annotations of a ScalingGroup", () => {
  let legacies: ReturnType<typeof withLegacy> = [];
  const inheritance = inheritanceOf({ ...nothing, labels: flood(3_000) }, all);
  for (let nth = 1; nth <= 50; nth++) {
    legacies = withLegacy(legacies, { from: `machine-${nth}`, since: "2026-01-02T03:04:05Z", inheritance });
  }
  const text = written({ legacies })[ledgerAnnotations.legacies] ?? "";
  ok(Buffer.byteLength(text) < mostAnnotationBytes / 2 + 1, `${text.length} bytes`);
  ok(legacies.length > 1 && legacies.at(-1)?.from === "machine-50", `${legacies.length} legacies`);
  deepEqual(keptFrom(legacies.at(-1)?.inheritance), inheritance);
});
