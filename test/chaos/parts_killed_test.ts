/**
 * Kills each component of Ostler, Temporal and the control plane once, during one rollout of a pool per component; each
 * rollout has the same result as without a failure.
 */
import assert from "node:assert/strict";
import { machineDeployment, poolPath, poolsPath, rollTo } from "../integration/pool_objects.ts";
import { withWorld } from "../integration/world.ts";
import type { World } from "../integration/world.ts";

const parts = [
  "controller",
  "worker",
  "machine-controller",
  "temporal",
  "kube-controller-manager",
  "kube-apiserver",
  "etcd",
];

Deno.test("rollOutMachineDeployment: continues after each component of Ostler, Temporal and the control plane is killed, one at a time", async (t) => {
  await withWorld({ seed: 11 }, async (world) => {
    await world.create(poolsPath(), machineDeployment({ replicas: 2 }));
    await world.untilPhase("pool", "Converged");
    for (const part of parts) await t.step(part, () => rollWithout(world, part));
  });
});

async function rollWithout(world: World, part: string): Promise<void> {
  const image = `docker://images.example/ubuntu:without-${part}`;
  await world.patch(poolPath("pool"), rollTo("1.36.1", image));
  await world.until("a replacement under way", async () => (await world.status("pool"))?.phase === "Rolling");
  const victim = world.site.stack.processes.get(part);
  victim.kill("SIGKILL");
  await victim.restart();
  const status = await world.untilPhase("pool", "Converged");
  assert.equal(status.updated, "2/2");
  const nodes = await world.until("the new nodes alone", async () => {
    const found = await world.list<{ status: { nodeInfo: { osImage: string } } }>("/api/v1/nodes");
    return found.length === 2 && found;
  });
  assert.deepEqual(nodes.map((node) => node.status.nodeInfo.osImage), [image, image]);
}
