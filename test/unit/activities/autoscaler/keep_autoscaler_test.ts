import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { ensureAutoscalerKept } from "../../../../activities/autoscaler/keep_autoscaler.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";

const object = { name: "autoscalingstrategy" };
const at = { namespace: "kube-system", name: "constellation-cluster-autoscaler" };
const creationTimestamp = "2026-01-01T00:00:00Z";

function kubeWith(enabled: boolean, { replicas = 0, deployed = true } = {}): FakeKube {
  const kube = new FakeKube();
  const spec = { enabled, deploymentName: at.name, deploymentNamespace: at.namespace };
  kube.put("autoscalingstrategies", { metadata: { ...object, creationTimestamp, generation: 3 }, spec });
  const beside = { name: "beside", unknownToTheClient: true };
  const containers = [beside, { name: "cluster-autoscaler", command: ["/bin/autoscaler", "--old"] }];
  if (deployed) kube.put("deployments", { metadata: at, spec: { replicas, template: { spec: { containers } } } });
  return kube;
}

function group(kube: FakeKube, spec: object = {}): void {
  const workers = { autoscaling: true, min: 1, max: 10, autoscalerGroupName: "worker-group", role: "Worker" };
  kube.put("scalinggroups", { metadata: { name: "g", creationTimestamp }, spec: { ...workers, ...spec } });
}

function keep(kube: FakeKube): ReturnType<typeof ensureAutoscalerKept> {
  return ensureAutoscalerKept(kube.client, { object });
}

interface Status {
  enabled: boolean;
  replicas: number;
  observedGeneration: number;
  conditions: { status: string; reason: string; message: string; lastTransitionTime: string }[];
}

function statusOf(kube: FakeKube): Status {
  return kube.get("autoscalingstrategies", object.name)?.["status"] as Status;
}

function specOf(kube: FakeKube): { replicas: number; template: { spec: { containers: object[] } } } {
  return kube.get("deployments", at.name, at.namespace)?.["spec"] as ReturnType<typeof specOf>;
}

for (
  const [id, enabled, before, after] of [
    ["AS1 leaves a disabled autoscaler at 0 replicas", false, 0, 0],
    ["AS2 turns the autoscaler on", true, 0, 1],
    ["AS3 turns the autoscaler off", false, 1, 0],
    ["scales three replicas of the autoscaler down to one", true, 3, 1],
  ] as const
) {
  Deno.test(`ensureAutoscalerKept: ${id}`, async () => {
    const kube = kubeWith(enabled, { replicas: before });
    const kept = await keep(kube) as { outcome: string; says: string };
    equal(kept.outcome, "Kept");
    match(kept.says, after === 1 ? / has 1 replica$/ : / has 0 replicas$/);
    const { enabled: isOn, replicas, observedGeneration } = statusOf(kube);
    deepEqual([specOf(kube).replicas, isOn, replicas, observedGeneration], [after, after > 0, after, 3]);
  });
}

Deno.test("AS5, AS6 ensureAutoscalerKept: writes the groups once into the command of the autoscaler, and changes no other container of the Deployment", async () => {
  const kube = kubeWith(true);
  group(kube);
  await keep(kube);
  await keep(kube);
  deepEqual(specOf(kube).template.spec.containers, [
    { name: "beside", unknownToTheClient: true },
    { name: "cluster-autoscaler", command: ["/bin/autoscaler", "--nodes=1:10:worker-group"] },
  ]);
  deepEqual(kube.writes.map((line) => line.split(" ")[1]), ["deployments", "autoscalingstrategies"]);
  group(kube, { autoscaling: false });
  await keep(kube);
  deepEqual(specOf(kube).template.spec.containers[1], { name: "cluster-autoscaler", command: ["/bin/autoscaler"] });
});

Deno.test("ensureAutoscalerKept: reports the missing object that it waits for, and since when, until the object exists", async () => {
  const kube = kubeWith(true, { deployed: false });
  const says = 'Deployment "kube-system/constellation-cluster-autoscaler" does not exist';
  deepEqual(await keep(kube), { outcome: "Waiting", reason: "DeploymentMissing", says });
  const [before] = statusOf(kube).conditions;
  deepEqual([before?.status, before?.reason, before?.message], ["False", "DeploymentMissing", says]);
  await keep(kube);
  equal(kube.writes.length, 1);
  kube.put("deployments", { metadata: at, spec: { replicas: 0, template: { spec: { containers: [{ name: "a" }] } } } });
  await keep(kube);
  deepEqual([statusOf(kube).conditions[0]?.status, specOf(kube).replicas], ["True", 1]);
});

Deno.test("ensureAutoscalerKept: fails with a retryable error after a conflict, and succeeds at the next attempt", async () => {
  const kube = kubeWith(true);
  kube.onRequest = (line) => {
    if (line.startsWith("patch deployments")) throw answer(409, "Conflict", "it has been modified");
    return Promise.resolve();
  };
  await rejects(keep(kube), { type: "ApiUnavailable", nonRetryable: false });
  kube.onRequest = () => Promise.resolve();
  await keep(kube);
  equal(specOf(kube).replicas, 1);
});

Deno.test("ensureAutoscalerKept: succeeds when the strategy was deleted", async () => {
  deepEqual(await keep(new FakeKube()), { outcome: "Gone" });
});
