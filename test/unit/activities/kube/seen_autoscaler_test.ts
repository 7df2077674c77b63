import { equal, match } from "node:assert/strict";
import { unheldAutoscaler } from "../../../../activities/kube/seen_autoscaler.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";

const at = { namespace: "kube-system", name: "cluster-autoscaler-status" };
const older = "Cluster-autoscaler status at 2026:\nNodeGroups:\n  Name:        Workers-asg\n  Health:      Healthy\n";
const newer = "autoscalerStatus: Running\nnodeGroups:\n- name: workers-asg\n  health:\n    status: Healthy\n";

function kubeWith(status: string, ageMs = 5_000): FakeKube {
  const kube = new FakeKube();
  const time = new Date(Date.now() - ageMs).toISOString().replace("T", " ").replace("Z", "123 +0000 UTC m=+12.3");
  const annotations = { "cluster-autoscaler.kubernetes.io/last-updated": time };
  kube.put("configmaps", { metadata: { ...at, annotations }, data: { status } });
  return kube;
}

function said(kube: FakeKube, autoscalerGroupName = "Workers-asg"): Promise<string> {
  const spec = { nodeImage: "v", groupId: "g", nodeGroupName: "workers", role: "Worker", autoscaling: false };
  return unheldAutoscaler(
    kube.client,
    () => Promise.resolve({ spec: { ...spec, autoscalerGroupName, min: 1, max: 2 } }),
  );
}

for (const [form, status] of [["older", older], ["newer", newer]] as const) {
  Deno.test(`fault G13: finds a cluster-autoscaler in the ${form} form of its status, and warns when no AutoscalingStrategy can pause it`, async () => {
    match(
      await said(kubeWith(status)),
      /^cluster-autoscaler manages group "Workers-asg", and no AutoscalingStrategy lets Ostler pause the autoscaler: /,
    );
    equal(await said(kubeWith(status), "other"), "");
  });
}

Deno.test("fault G13: does not warn about a cluster-autoscaler that an AutoscalingStrategy can pause, that has stopped, or that does not exist", async () => {
  const held = kubeWith(newer);
  held.put("autoscalingstrategies", { metadata: { name: "a" }, spec: { enabled: true } });
  equal(await said(held), "");
  equal(await said(kubeWith(newer, 3_600_000)), "");
  equal(await said(new FakeKube()), "");
});

Deno.test("fault unheldAutoscaler: warns about a running cluster-autoscaler if each AutoscalingStrategy names a Deployment that does not exist, because Ostler then pauses none", async () => {
  const kube = kubeWith(newer);
  const ready = { type: "Ready", status: "False", reason: "DeploymentMissing", message: "", lastTransitionTime: "" };
  const missing = { spec: { enabled: true, deploymentName: "other" }, status: { conditions: [ready] } };
  kube.put("autoscalingstrategies", { metadata: { name: "a" }, ...missing });
  match(await said(kube), /^cluster-autoscaler manages group "Workers-asg"/);
  const working = kubeWith(newer);
  working.put("autoscalingstrategies", { metadata: { name: "a" }, ...missing });
  working.put("autoscalingstrategies", {
    ...{ metadata: { name: "b" }, spec: { enabled: true } },
    status: { conditions: [{ ...ready, status: "True", reason: "Kept" }] },
  });
  equal(await said(working), "");
});

Deno.test("fault G13: gives no warning, and does not fail, when it is forbidden to read the status of cluster-autoscaler", async () => {
  const kube = kubeWith(newer);
  kube.onRequest = (line) => {
    if (line.startsWith("get configmaps")) throw answer(403, "Forbidden");
  };
  equal(await said(kube), "");
});
