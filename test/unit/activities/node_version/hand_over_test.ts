import { deepEqual } from "node:assert/strict";
import { handOver, inheritanceOf } from "../../../../activities/backends/scaling_group/inheritance.ts";
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

Deno.test("fault G13: inheritanceOf leaves out the annotation for the autoscaler that Ostler set itself", () => {
  const key = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
  const mark = "ostler.dev/scale-down-disabled-by";
  const rules = { ...all, annotations: [key, mark] };
  const own = { [key]: "true", [mark]: "scaling-group/kube-system/scaling-group.workers" };
  deepEqual(inheritanceOf({ ...nothing, annotations: own }, rules).annotations, {});
  deepEqual(inheritanceOf({ ...nothing, annotations: { [key]: "true" } }, rules).annotations, { [key]: "true" });
});
