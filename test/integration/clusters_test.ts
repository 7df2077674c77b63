/** Two clusters with pools of equal names on one Temporal namespace: each cluster rolls only its own pools. */
import assert from "node:assert/strict";
import { machineDeployment, poolPath, poolsPath, rollTo } from "./pool_objects.ts";
import { inTwoClusters, list, listsBoth, type Named } from "./two_clusters.ts";
import type { World } from "./world.ts";

const machines = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";

Deno.test("clusters: two clusters on one Temporal namespace do not affect each other", async (t) => {
  await inTwoClusters(async (north, south) => {
    await t.step("pools of equal names are rolled by separate runs", () => rollsBoth(north, south));
    await t.step("`ostler clusters` needs only Temporal, and lists both clusters", () => listsBoth(north, south));
    await t.step(
      "one cluster is removed and added again while the other continues to roll",
      () => comesAgain(north, south),
    );
  });
});

async function rollsBoth(north: World, south: World): Promise<void> {
  for (const world of [north, south]) await world.create(poolsPath(), machineDeployment({ replicas: 1 }));
  await Promise.all([north, south].map((world) => world.untilPhase("pool", "Converged")));
  const [kept] = await south.list<Named>(machines);
  const [old] = await north.list<Named>(machines);
  await north.patch(poolPath("pool"), rollTo("1.36.1"));
  await north.untilPhase("pool", "Converged");
  assert.notEqual((await north.list<Named>(machines))[0]?.metadata.uid, old?.metadata.uid);
  assert.deepEqual((await south.list<Named>(machines)).map(({ metadata }) => metadata.uid), [kept?.metadata.uid]);
  for (const cluster of ["north", "south"]) {
    const run = await north.temporal.workflow.getHandle(`${cluster}/machine-deployment/kube-system/pool`).describe();
    assert.equal(run.taskQueue, `ostler-${cluster}`);
    const found = await north.temporal.workflow.count(
      `KubernetesCluster = "${cluster}" AND MachineDeployment = "pool"`,
    );
    assert.ok(found.count > 0);
  }
}

async function comesAgain(north: World, south: World): Promise<void> {
  await north.observed(1, async () => {
    await Promise.all([north, south].map((world) => world.patch(poolPath("pool"), rollTo("1.36.2"))));
    await south.until("the rollout of cluster south", async () => (await south.status("pool"))?.phase !== "Converged");
    await north.until("a machine under way", async () => (await north.status("pool"))?.underway?.length === 1);
    await removed(south, north.site.stack.temporal);
    await north.untilPhase("pool", "Converged");
  });
  const { items, code } = await list(north);
  assert.deepEqual([items.map(({ name }) => name), code], [["north"], 0]);
  const { controller, worker } = south.site.ostler;
  await Promise.all([controller.start(), worker.start()]);
  await south.untilPhase("pool", "Converged");
  await listsBoth(north, south);
}

/** Removes cluster "south", which has an open rollout, by the two commands of docs/how-to/temporal.md. */
async function removed({ site: { ostler }, tools }: World, { address }: { address: string }): Promise<void> {
  await Promise.all([ostler.controller.stop(), ostler.worker.stop()]);
  const query = `KubernetesCluster = "south" AND ExecutionStatus = "Running"`;
  const lines = [
    ["schedule", "delete", "--schedule-id", "south/renew-credentials"],
    ["workflow", "terminate", "--query", query, "--reason", "south is no more", "--yes"],
  ];
  for (const line of lines) {
    const args = [...line, "--address", address];
    const { success, stderr } = await new Deno.Command(tools.temporal, { args }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
  }
}
