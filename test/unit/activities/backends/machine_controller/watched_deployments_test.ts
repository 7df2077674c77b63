import { deepEqual, equal, ok } from "node:assert/strict";
import { observedOf } from "../../../../../activities/config/observed.ts";
import { finalizer } from "../../../../../activities/config/identity.ts";
import { MachineDeployment } from "../../../../../activities/kube/resources.ts";
import { watchedDeployments } from "../../../../../activities/backends/machine_controller/watch_all.ts";

const { schema } = watchedDeployments("kube-system");

/** A MachineDeployment as the API server returns it to a watch, with large fields that Ostler does not need. */
const large = {
  metadata: {
    ...{ name: "web", namespace: "fleet", uid: "u-1", generation: 3, resourceVersion: "77", labels: { tier: "web" } },
    creationTimestamp: "2026-01-01T00:00:00Z",
    annotations: {
      "machinedeployment.clusters.k8s.io/revision": "2",
      "k8c.io/operating-system-profile": "osp-ubuntu",
      "kubectl.kubernetes.io/last-applied-configuration": "x".repeat(10_000),
    },
    finalizers: [finalizer],
    managedFields: [{ manager: "kubectl", fieldsV1: { "f:spec": "x".repeat(10_000) } }],
  },
  spec: { replicas: 3, template: { spec: { providerSpec: { value: { userData: "x".repeat(10_000) } } } } },
  status: { replicas: 3, observedGeneration: 3 },
};

Deno.test("watched deployments: keep only the fields that decide whether a change is new", () => {
  const kept = schema.parse(large);
  ok(JSON.stringify(kept).length < 500);
  deepEqual([kept.name, kept.namespace, kept.labels, kept.isHeld], ["web", "fleet", { tier: "web" }, true]);
  deepEqual(kept.profile, { name: "osp-ubuntu", namespace: "kube-system" });
});

Deno.test("watched deployments: give the same observed state as the whole object", () => {
  equal(observedOf(schema.parse(large), 5), observedOf(MachineDeployment.parse(large), 5));
  const leaving = { ...large, metadata: { ...large.metadata, deletionTimestamp: "2026-01-02T00:00:00Z" } };
  equal(observedOf(schema.parse(leaving), 5), observedOf(MachineDeployment.parse(leaving), 5));
});

Deno.test("watched deployments: keep whether machine-controller has observed the generation", () => {
  equal(schema.parse(large).isNumbered, true);
  const changed = { ...large, metadata: { ...large.metadata, generation: 4 } };
  equal(schema.parse(changed).isNumbered, false);
  const leaving = { ...changed.metadata, deletionTimestamp: "2026-01-02T00:00:00Z" };
  equal(schema.parse({ ...changed, metadata: leaving }).isNumbered, true);
});

Deno.test("watched deployments: ignore a change that no rollout reads", () => {
  const counted = { ...large, status: { replicas: 2, observedGeneration: 3 } };
  deepEqual(schema.parse(counted), schema.parse(large));
});
