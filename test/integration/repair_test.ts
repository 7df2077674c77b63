/** Machines that become unhealthy are replaced one by one, except when too many are unhealthy at once. */
import assert from "node:assert/strict";
import { machineDeployment, policiesPath, poolPath, poolsPath, rolloutPolicy, rollTo } from "./pool_objects.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const labels = { care: "much" };

testInWorld("repair: replaces unhealthy machines by policy", {}, async (world, t) => {
  const conditions = [{ type: "DiskBroken", status: "True", for: "1s" }];
  const repair = { notReadyFor: "2s", conditions, maxUnhealthy: "40%" };
  await world.create(policiesPath(), rolloutPolicy("care", { repair }, labels));
  await world.create(poolsPath(), machineDeployment({ replicas: 3, labels }));
  await world.untilPhase("pool", "Converged");
  await t.step("a node that stays NotReady is replaced, without a rollout", () => replacesNotReady(world));
  await t.step("a node with a bad condition is replaced", () => replacesCondition(world));
  await t.step(
    "while two of three machines are unhealthy, no machine is replaced until one recovers",
    () => stopsAtTooMany(world),
  );
  await t.step("an unhealthy machine of a rolling pool is replaced, within the budget", () => repairsRolling(world));
});

async function replacesNotReady(world: World): Promise<void> {
  const before = await machines(world);
  const [ill = ""] = before;
  await world.site.cloud.sicken(ill, true);
  await isReplaced(world, { ill, before });
  const status = await world.untilPhase("pool", "Converged");
  assert.equal(status.history?.length, 1, "Expected only the creation");
}

async function replacesCondition(world: World): Promise<void> {
  const before = await machines(world);
  const [ill = ""] = before;
  const now = new Date().toISOString();
  const condition = {
    type: "DiskBroken",
    status: "True",
    reason: "Smart",
    message: "its status reports that",
    lastTransitionTime: now,
  };
  const body = { status: { conditions: [condition] } };
  const contentType = "application/strategic-merge-patch+json";
  await world.api.call({ method: "PATCH", path: `/api/v1/nodes/${ill}/status`, body, contentType });
  await isReplaced(world, { ill, before });
}

async function stopsAtTooMany(world: World): Promise<void> {
  const before = await machines(world);
  const [first = "", second = ""] = before;
  await Promise.all([world.site.cloud.sicken(first, true), world.site.cloud.sicken(second, true)]);
  const stopped = await world.until("the repair to be stopped", async () => {
    const status = await world.status("pool");
    return status?.blockedReason === "TooManyUnhealthy" && status;
  });
  assert.deepEqual(await machines(world), before, stopped.message);
  await world.site.cloud.sicken(second, false);
  await isReplaced(world, { ill: first, before });
  assert.ok((await machines(world)).includes(second), "Expected the recovered machine to stay");
}

async function isReplaced(world: World, { ill, before }: { ill: string; before: string[] }): Promise<void> {
  await world.until(`"${ill}" to be replaced`, async () => {
    const now = await machines(world);
    const ready = world.site.cloud.machines().filter(({ phase }) => phase === "ready").map(({ name }) => name);
    return !now.includes(ill) && now.length === 3 && now.every((name) => ready.includes(name));
  }, 120).catch(async (error: unknown) => {
    throw new Error(`Rollout "pool" stands at ${JSON.stringify(await world.status("pool"))}`, { cause: error });
  });
  const now = await machines(world);
  assert.deepEqual(before.filter((name) => name !== ill && !now.includes(name)), [], "the others stay");
  await world.untilPhase("pool", "Converged");
}

async function repairsRolling(world: World): Promise<void> {
  const [name, eager] = ["rolling", { care: "all" }];
  const repair = { notReadyFor: "2s", maxUnhealthy: "100%" };
  await world.create(policiesPath(), rolloutPolicy("eager", { repair }, eager));
  await world.create(poolsPath(), machineDeployment({ name, replicas: 2, labels: eager }));
  await world.untilPhase(name, "Converged");
  const [ill = ""] = await machines(world, name);
  await world.site.cloud.sicken(ill, true);
  await world.patch(poolPath(name), rollTo("1.36.1"));
  const done = await world.untilPhase(name, "Converged");
  assert.equal(done.updated, "2/2");
  assert.equal((await machines(world, name)).includes(ill), false);
}

async function machines(world: World, pool = "pool"): Promise<string[]> {
  const path = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";
  const found = await world.list<{ metadata: { name: string } }>(path);
  return found.map(({ metadata }) => metadata.name).filter((name) => name.startsWith(`${pool}-`)).sort();
}
