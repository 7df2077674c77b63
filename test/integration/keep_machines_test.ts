/**
 * `onImageChange: InPlace` on the real machine-controller: a change of the image replaces no machine, and machines that
 * are added later boot the new image.
 */
import assert from "node:assert/strict";
import { machineDeployment, policiesPath, poolPath, poolsPath, rolloutPolicy, rollTo } from "./pool_objects.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const labels = { keeps: "machines" };
const image = "docker://images.example/ubuntu:2";
const nodePools = "/apis/ostler.dev/v1alpha1/namespaces/kube-system/nodepools";

testInWorld(
  "onImageChange: InPlace boots another image in a MachineDeployment, and machine-controller replaces no machine",
  {},
  async (world, t) => {
    await world.create(policiesPath(), rolloutPolicy("keeps", { onImageChange: "InPlace" }, labels));
    await world.create(poolsPath(), machineDeployment({ name: "kept", replicas: 2, labels }));
    await world.untilPhase("kept", "Converged");
    const before = machinesOf(world);
    await t.step(
      "without a NodePool for its nodes the rollout halts, and no machine is ordered",
      () => refuses(world, before),
    );
    await t.step("with a NodePool the rollout replaces no machine", () => keeps(world, before));
    await t.step("a machine that is added later boots the new image", () => grows(world, before));
    await t.step("a change of more than the image halts the rollout", () => refusesMore(world));
  },
);

async function refuses(world: World, before: string[]): Promise<void> {
  await world.patch(poolPath("kept"), rollTo("1.35.3", image));
  const { reason, message } = await world.untilPhase("kept", "Halted");
  assert.equal(reason, "ReplacementRefused");
  assert.match(message, /node ".*" must be selected by exactly one NodePool/);
  assert.deepEqual(machinesOf(world), before);
}

async function keeps(world: World, before: string[]): Promise<void> {
  const nodes = await world.list<{ metadata: { name: string } }>("/api/v1/nodes");
  for (const { metadata: { name } } of nodes) {
    await world.patch(`/api/v1/nodes/${name}`, { metadata: { labels: { keeps: "here" } } });
  }
  await world.create(nodePools, {
    ...{ apiVersion: "ostler.dev/v1alpha1", kind: "NodePool", metadata: { namespace: "kube-system", name: "kept" } },
    spec: { nodeSelector: { matchLabels: { keeps: "here" } }, driver: "FleetLock", fleetLock: { group: "default" } },
  });
  await world.temporal.workflow.getHandle("machine-deployment/kube-system/kept").executeUpdate("retry", {
    args: [{ by: "test" }],
  });
  const status = await world.untilPhase("kept", "Converged");
  assert.deepEqual([status.image, status.updated], [image, "2/2"]);
  assert.deepEqual(machinesOf(world), before);
  // machine-controller made a MachineSet with new machines meanwhile; these never booted, and are deleted.
  await world.until("only the unchanged machines", async () => {
    const there = await world.list<{ metadata: { name: string } }>(machinesPath);
    return there.map(({ metadata: { name } }) => name).sort().join() === before.join();
  });
}

async function grows(world: World, before: string[]): Promise<void> {
  await world.patch(poolPath("kept"), { spec: { replicas: 3 } });
  await world.until("a third machine", async () => (await world.status("kept"))?.readyReplicas === 3);
  const fresh = world.site.cloud.machines().filter(({ name }) => !before.includes(name));
  assert.deepEqual(fresh.map((machine) => machine.image), [image]);
  assert.deepEqual(machinesOf(world).filter((name) => before.includes(name)), before);
}

async function refusesMore(world: World): Promise<void> {
  const before = machinesOf(world);
  await world.patch(poolPath("kept"), rollTo("1.36.1"));
  const { reason, message } = await world.untilPhase("kept", "Halted");
  assert.deepEqual([reason, machinesOf(world)], ["ReplacementRefused", before]);
  assert.match(message, /more than the image changes in the template/);
  await world.patch(poolPath("kept"), rollTo("1.35.3", image));
  await world.untilPhase("kept", "Converged");
  assert.deepEqual(machinesOf(world), before);
}

const machinesPath = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";

/** Returns the names of all machines that the pool ever ordered from the cloud. */
function machinesOf(world: World): string[] {
  return world.site.cloud.machines().map(({ name }) => name).filter((name) => name.startsWith("kept-")).sort();
}
