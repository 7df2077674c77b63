/** Gates on a real API server, with the identity and the permissions of the worker. */
import { openCluster } from "../../activities/cluster.ts";
import assert from "node:assert/strict";
import { awaitGates } from "../../activities/gates/await_gates.ts";
import { connectKube, loadKubeConfig } from "../../activities/kube/client.ts";
import type { Check, GateVerdict } from "../../workflows/contracts/mod.ts";
import { inActivity } from "../support/activity_context.ts";
import { machineDeployment, poolsPath } from "./pool_objects.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const namespace = "default";
const labels = { app: "agent" };
const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "images.example/pause:1" }] } };
const smoke: Check = { kind: "Job", namespace, cronJob: "smoke" };

testInWorld("awaitGates: reads the API server with the permissions of the worker", { seed: 5 }, async (world, t) => {
  await world.create(poolsPath(), machineDeployment({ replicas: 1 }));
  await world.untilPhase("pool", "Converged");
  await t.step("reads conditions of the node for a machine, and of all nodes for a wave", () => seesConditions(world));
  await t.step("reads a DaemonSet that selects the node", () => seesDaemonSets(world));
  await t.step("counts pods on the node for a machine, and pods on all nodes for a wave", () => seesPods(world));
  await t.step("runs a Job only if a RoleBinding allows it", () => runsJob(world));
});

async function ask(world: World, check: Check, { wave = false, seconds = 60 } = {}): Promise<GateVerdict> {
  const [machine] = await world.list<{ metadata: { name: string }; status: { nodeRef: { name: string } } }>(
    "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines",
  );
  assert.ok(machine);
  const kube = openCluster(connectKube(loadKubeConfig(world.site.kubeconfigs.worker)));
  const verdicts = await inActivity(() =>
    awaitGates(kube, {
      pool: { namespace: "kube-system", name: "pool" },
      gates: [{ name: "probe", run: wave ? "EachWave" : "EachMachine", within: seconds * 1000, check }],
      ...(wave ? {} : { machine: machine.metadata.name, node: machine.status.nodeRef.name }),
      ...{ key: wave ? "wave/0" : "machine/0", until: Date.now() + seconds * 1000 },
    })
  );
  assert.ok(Array.isArray(verdicts) && verdicts[0]);
  return verdicts[0];
}

async function seesConditions(world: World): Promise<void> {
  const ready: Check = { kind: "NodeCondition", type: "Ready", status: "True" };
  for (const wave of [false, true]) {
    const { outcome, message } = await ask(world, ready, { wave });
    assert.equal(`${outcome}: ${message}`, "Passed: Ready=True on 1 of 1 nodes");
  }
  const { outcome } = await ask(world, { ...ready, status: "False" }, { seconds: 1 });
  assert.equal(outcome, "Failed");
}

async function seesDaemonSets(world: World): Promise<void> {
  const check: Check = { kind: "DaemonSets", namespace: null, selector: "app=agent" };
  assert.equal((await ask(world, check, { seconds: 1 })).outcome, "Inconclusive");
  await world.create(`/apis/apps/v1/namespaces/${namespace}/daemonsets`, {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent", namespace, labels },
    spec: { selector: { matchLabels: labels }, template },
  });
  for (const wave of [false, true]) {
    const { outcome, message } = await ask(world, check, { wave });
    assert.equal(`${outcome}: ${message}`, "Passed: 1 of 1 daemon pods are Ready");
  }
}

async function seesPods(world: World): Promise<void> {
  const check: Check = { kind: "Pods", namespace, selector: "app in (agent, other)", min: 1 };
  for (const wave of [false, true]) assert.equal((await ask(world, check, { wave })).outcome, "Passed");
  assert.equal((await ask(world, { ...check, min: 2 }, { wave: true, seconds: 1 })).outcome, "Failed");
}

async function runsJob(world: World): Promise<void> {
  await world.create(`/apis/batch/v1/namespaces/${namespace}/cronjobs`, {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "smoke", namespace },
    spec: {
      schedule: "0 0 1 1 *",
      suspend: true,
      jobTemplate: { spec: { backoffLimit: 0, template: { spec: { ...template.spec, restartPolicy: "Never" } } } },
    },
  });
  const denied = await ask(world, smoke, { seconds: 2 });
  assert.equal(denied.outcome, "Inconclusive");
  assert.match(denied.message, /HTTP 403, .*ostler-worker.* cannot /);
  await world.create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "ostler-job-gate", namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "ostler-job-gate" },
    subjects: [{ kind: "ServiceAccount", name: "ostler-worker", namespace: "ostler-system" }],
  });
  const [first, again] = await Promise.all([ask(world, smoke), ask(world, smoke), endPod(world)]);
  assert.equal(first.outcome, "Passed");
  assert.match(first.message, /^Job "default\/smoke-ostler-[0-9a-f]{12}" is Complete$/);
  assert.deepEqual(again, first);
  assert.equal((await world.list(`/apis/batch/v1/namespaces/${namespace}/jobs`)).length, 1);
}

interface Pod {
  metadata: { name: string; annotations?: Record<string, string> };
  status: { phase?: string };
}

/** Acts as a kubelet would when the only container has succeeded. */
async function endPod(world: World): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const pod = await world.until("the Job's pod to run", async () => {
    const pods = await world.list<Pod>(path);
    return pods.find(({ metadata, status }) =>
      metadata.annotations?.["ostler.dev/gate"] === "probe" && status.phase === "Running"
    );
  });
  assert.ok(pod.metadata.annotations?.["ostler.dev/node"]);
  await world.patch(`${path}/${pod.metadata.name}/status`, { status: { phase: "Succeeded" } });
}
