/** Deleting a MachineDeployment deletes everything that was made for it, and nothing else. */
import assert from "node:assert/strict";
import { machineDeployment, poolPath, poolsPath, rollTo } from "./pool_objects.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const traces = [
  "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemconfigs",
  "/apis/ostler.dev/v1alpha1/namespaces/kube-system/rollouts",
  "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines",
  "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machinesets",
  "/apis/kubevirt.io/v1/namespaces/kube-system/virtualmachines",
  "/api/v1/namespaces/cloud-init-settings/secrets",
  "/api/v1/namespaces/cloud-init-settings/configmaps",
  "/api/v1/namespaces/cloud-init-settings/serviceaccounts",
  "/apis/rbac.authorization.k8s.io/v1/namespaces/cloud-init-settings/roles",
  "/apis/rbac.authorization.k8s.io/v1/namespaces/cloud-init-settings/rolebindings",
  "/api/v1/nodes",
];

testInWorld(
  "rollOutMachineDeployment: cleans up everything when its pool is deleted during a rollout",
  {},
  async (world) => {
    const untouched = await count(world);
    await world.create(poolsPath(), machineDeployment({ replicas: 2 }));
    await world.untilPhase("pool", "Converged");
    assert.notDeepEqual(await count(world), untouched);

    await world.patch(poolPath("pool"), rollTo("1.36.1"));
    await world.until("a replacement under way", async () => (await world.status("pool"))?.phase === "Rolling");
    await world.remove(poolPath("pool"));

    await world.until("the pool to go", async () => (await world.get(poolPath("pool"))) === undefined, 120);
    await world.until("all traces to go", async () => same(await count(world), untouched), 60).catch(() => undefined);
    assert.deepEqual(await count(world), untouched);
    assert.deepEqual(await bootstrapTokens(world), []);
    const run = world.temporal.workflow.getHandle("machine-deployment/kube-system/pool");
    assert.equal((await run.result() as { outcome: string }).outcome, "Deleted");
  },
);

async function count(world: World): Promise<Record<string, string[]>> {
  const found = await Promise.all(traces.map(async (path) => [path, await names(world, path)] as const));
  return Object.fromEntries(found);
}

async function names(world: World, path: string): Promise<string[]> {
  return (await world.list<{ metadata: { name: string } }>(path)).map(({ metadata }) => metadata.name).sort();
}

async function bootstrapTokens(world: World): Promise<string[]> {
  const secrets = await names(world, "/api/v1/namespaces/kube-system/secrets");
  return secrets.filter((name) => name.startsWith("bootstrap-token-"));
}

function same(a: object, b: object): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
