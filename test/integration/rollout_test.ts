/**
 * Ostler's main task, checked by an independent observer: creation, a rollout under load with a killed worker, and no
 * leak of secrets.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { machineDeployment, poolPath, poolsPath, rollTo, secretPath, workload } from "./pool_objects.ts";
import { SecretCollector } from "./secrecy.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

testInWorld("rollOutMachineDeployment: keeps its promises under load, with a killed worker and a renewal", {
  seed: 7,
}, async (world, t) => {
  const secrets = new SecretCollector(world);
  await t.step("creates the pool, and three machines join", () => create(world));
  await secrets.collect();
  await t.step(
    "the token of a booting machine can only read its two Secrets and write its boot report",
    () => isNarrow(world),
  );
  await t.step("replaces machines one by one while a worker process is killed", () => roll(world, secrets));
  await t.step("renews credentials without touching a machine", () => renew(world));
  await secrets.collect();
  await t.step("scales up without holding a machine", () => scale(world));
  const told = await scrape(world);
  await t.step("reports its actions in metrics", () => measures(told));
  await t.step("logs its actions with machine and workflow", () => logs(world));
  await t.step("leaks no secret byte", () => secrets.assertNowhere(Object.entries(told)));
});

async function create(world: World): Promise<void> {
  await world.create(poolsPath(), machineDeployment({ replicas: 3 }));
  const status = await world.untilPhase("pool", "Converged");
  assert.equal(status.updated, "3/3");
  assert.ok(status.convergedTemplateHash);
  const { deployment, budget } = workload("web", 3);
  await world.create("/apis/apps/v1/namespaces/default/deployments", deployment);
  await world.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget);
  await world.until("three pods Running", async () => (await runningPods(world)) === 3);
}

async function roll(world: World, secrets: SecretCollector): Promise<void> {
  await world.observed(3, async () => {
    await world.patch(poolPath("pool"), rollTo("1.36.1"));
    await world.until("the second replacement", async () => (await world.status("pool"))?.updated === "1/3");
    await secrets.collect();
    world.site.ostler.worker.kill("SIGKILL");
    await world.site.ostler.worker.restart();
    await world.untilPhase("pool", "Converged");
  });
  const status = await world.untilPhase("pool", "Converged");
  assert.equal(status.updated, "3/3");
  assert.equal(status.history?.length, 2);
  // Waits, because machine-controller deletes the nodes of deleted machines only later.
  const nodes = await world.until("three nodes", async () => {
    const found = await world.list<{ status: { nodeInfo: { kubeletVersion: string } } }>("/api/v1/nodes");
    return found.length === 3 && found;
  });
  assert.deepEqual(nodes.map((node) => node.status.nodeInfo.kubeletVersion), ["v1.36.1", "v1.36.1", "v1.36.1"]);
}

async function isNarrow(world: World): Promise<void> {
  const identity = "system:serviceaccount:cloud-init-settings:ostler-pool-kube-system";
  const may = async (resource: string, name: string, verb = "get"): Promise<boolean> => {
    const resourceAttributes = { verb, resource, name, namespace: "cloud-init-settings" };
    const body = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: identity, resourceAttributes },
    };
    const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    return (await world.api.call({ method: "POST", path, body }) as { status: { allowed: boolean } }).status.allowed;
  };
  assert.equal(await may("secrets", "pool-kube-system-provisioning-config"), true);
  assert.equal(await may("secrets", "kube-system-pool-kubelet-bootstrap-config"), true);
  assert.equal(await may("secrets", "pool-kube-system-bootstrap-config"), false);
  assert.equal(await may("secrets", "", "list"), false);
  assert.equal(await may("configmaps", "ostler-boot-pool-kube-system", "patch"), true);
  assert.equal(await may("configmaps", "ostler-boot-pool-kube-system"), false);
  assert.equal(await may("configmaps", "any", "patch"), false);
}

async function renew(world: World): Promise<void> {
  const before = await world.status("pool");
  const machines = await machineNames(world);
  const due = { "ostler.dev/credentials-renew": "2020-01-01T00:00:00Z" };
  for (const secret of ["pool-kube-system-bootstrap-config", "kube-system-pool-kubelet-bootstrap-config"]) {
    await world.patch(secretPath(secret), { metadata: { annotations: due } });
  }
  await world.temporal.workflow.signalWithStart("rollOutMachineDeployment", {
    workflowId: "machine-deployment/kube-system/pool",
    taskQueue: "ostler",
    args: [{ namespace: "kube-system", name: "pool" }],
    signal: "desiredChanged",
    signalArgs: [{}],
  });
  const renewed = await world.until("fresh credentials", async () => {
    const now = await world.status("pool");
    return now?.credentials?.renewAt !== before?.credentials?.renewAt && now?.phase === "Converged" && now;
  });
  assert.ok(Date.parse(renewed.credentials?.renewAt ?? "") > Date.now());
  assert.deepEqual(await machineNames(world), machines);
  assert.equal(renewed.history?.length, 2, "Expected no rollout for a renewal");
}

async function scale(world: World): Promise<void> {
  await world.patch(poolPath("pool"), { spec: { replicas: 4 } });
  const status = await world.until("four machines", async () => {
    const now = await world.status("pool");
    return now?.updated === "4/4" && now.phase === "Converged" && now;
  });
  assert.equal(status.revision, "2");
}

async function logs(world: World): Promise<void> {
  const text = await readFile(join(world.site.stack.directory, "logs", "worker.log"), "utf8");
  const lines = text.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  const machines = await machineNames(world);
  const done = lines.filter(({ message, machine }) => message === "Step done" && machines.includes(machine));
  assert.ok(done.length > 0);
  for (const line of done) {
    assert.deepEqual([line.workflowId, line.pool], ["machine-deployment/kube-system/pool", "kube-system/pool"]);
    assert.equal(line.taskToken, undefined);
  }
}

interface Told {
  controller: string;
  worker: string;
}

async function scrape(world: World): Promise<Told & Record<string, string>> {
  const { metrics } = world.site.ostler;
  assert.ok(metrics);
  const text = async (url: string): Promise<string> => await (await fetch(url)).text();
  return { controller: await text(metrics.controller), worker: await text(metrics.worker) };
}

function measures({ controller, worker }: Told): void {
  assert.match(controller, /^ostler_leader 1$/m);
  assert.match(controller, /^ostler_rollouts{phase="Converged"} 1$/m);
  assert.match(controller, /^ostler_rollout_machines{state="ready"} 4$/m);
  assert.match(controller, /^ostler_rollout_signals_total{outcome="told"} [1-9]/m);
  assert.match(controller, /^ostler_credential_overdue_seconds 0$/m);
  // The worker's counters began at zero when it was restarted after the kill.
  assert.match(worker, /^ostler_join_duration_seconds_count{pool="kube-system\/pool",image="[^"]+"} [1-9]/m);
  assert.match(worker, /^ostler_drain_duration_seconds_count{pool="kube-system\/pool",image="[^"]+"} [1-9]/m);
  assert.match(worker, /^ostler_publish_duration_seconds_count{news="Renewed"} 1$/m);
  assert.match(worker, /^ostler_api_requests_total{verb="patch",resource="rollouts\/status",code="200"} [1-9]/m);
  // Metrics of the Temporal SDK.
  assert.match(worker, /^temporal_activity_schedule_to_start_latency_bucket{/m);
  assert.match(worker, /^temporal_worker_task_slots_used{/m);
}

async function machineNames(world: World): Promise<string[]> {
  const path = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";
  return (await world.list<{ metadata: { name: string } }>(path)).map(({ metadata }) => metadata.name).sort();
}

async function runningPods(world: World): Promise<number> {
  const pods = await world.list<{ status: { phase: string } }>("/api/v1/namespaces/default/pods");
  return pods.filter(({ status }) => status.phase === "Running").length;
}
