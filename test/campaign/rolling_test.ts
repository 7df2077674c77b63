/**
 * All machines of a pool of real machines are replaced several times, with various failures, while visitors send
 * requests to its pods.
 */
import assert from "node:assert/strict";
import { type Cut, cutFirstNewcomer, isExcused } from "./rolling/cut_machine.ts";
import { guestProfile, policyPath, profilePath, withGuests } from "./rolling/guest_world.ts";
import { poolPath } from "../integration/pool_objects.ts";
import type { World } from "../integration/world.ts";
import { noRoutesBecause } from "./rolling/pod_routes.ts";
import { machineTest } from "../machines/real_machines.ts";
import { promisedBy, replaceAll, type Scene, wereServed, wereServedBut } from "./rolling/rollouts.ts";

const debian = (build: string): string => `docker://images.example/debian:12-${build}`;

// A profile whose kubelet does not start, because no kubelet has this flag.
const brokenProfile = guestProfile("v1.0.1", [{
  path: "/etc/systemd/system/kubelet.service.d/90-site.conf",
  data: "[Service]\nExecStart=\nExecStart=/opt/bin/kubelet --no-such-flag\n",
}]);

const stories: [name: string, story: (scene: Scene) => Promise<void>][] = [
  ["kubelet 1.35.3 is replaced by 1.36.1, machine by machine", rollsKubelet],
  ["a new image is rolled out while the worker process is killed twice", rollsWithoutWorker],
  [
    "a new image is rolled out while a new machine has no network: Ostler waits for the machine and does not replace it",
    rollsWithoutNetwork,
  ],
  ["a profile whose kubelet never starts is rolled back", rollsBack],
];

machineTest("rollOutMachineDeployment: replaces real machines under load, and no request fails", async (t) => {
  await withGuests(async (scene) => {
    for (const [name, story] of stories) {
      assert.ok(await t.step(name, () => story(scene)), `Failed to continue after this story: ${name}`);
    }
  });
}, await noRoutesBecause());

async function rollsKubelet(scene: Scene): Promise<void> {
  const bounds = { ready: 3, machines: 4 };
  wereServed(await replaceAll(scene, { kubelet: "1.36.1", image: debian("a"), bounds }));
}

// The budget allows all machines at a time, but the guests' PodDisruptionBudget allows only one drain at a time.
async function rollsWithoutWorker(scene: Scene): Promise<void> {
  const { world, pool } = scene;
  await world.patch(policyPath, { spec: { budget: { machines: 3 } } });
  await world.patch(poolPath("pool"), { spec: { strategy: { rollingUpdate: { maxSurge: 3 } } } });
  const bounds = { ready: 3, machines: 6 };
  const { worker } = world.site.ostler;
  const report = await replaceAll(scene, { kubelet: "1.36.1", image: debian("b"), bounds }, async () => {
    const newcomer = await pool.untilUnderway("Joining", 0);
    // A new machine is held until Ostler's worker admits it, and is ordered from the cloud after that; while no worker
    // runs, only machines that are already ordered can join.
    await world.until("the new machine to be ordered", () => Promise.resolve(isOrdered(world, newcomer)));
    worker.kill("SIGKILL");
    await world.until(
      "a new machine to join while no worker runs",
      async () => await pool.readiness(newcomer) === "True",
      240,
    );
    await worker.restart();
    await pool.untilUnderway("Draining", 0);
    worker.kill("SIGKILL");
    await worker.restart();
  });
  wereServed(report);
}

function isOrdered({ site }: World, name: string): boolean {
  return site.cloud.machines().some((machine) => machine.name === name);
}

async function rollsWithoutNetwork(scene: Scene): Promise<void> {
  const { world, pool } = scene;
  await world.patch(policyPath, { spec: { budget: { machines: 1 } } });
  await world.patch(poolPath("pool"), { spec: { strategy: { rollingUpdate: { maxSurge: 1 } } } });
  const cuts: Cut[] = [];
  const bounds = { ready: 2, machines: 4 };
  const report = await replaceAll(scene, { kubelet: "1.36.1", image: debian("c"), bounds }, async () => {
    cuts.push(await cutFirstNewcomer(scene));
  });
  wereServedBut((visit) => cuts.some((cut) => isExcused(cut, visit)), report);
  assert.ok(report.failed.length > 0, "Expected visitors to notice a machine without a network");
  const names = await pool.names();
  assert.ok(cuts.every(({ machine }) => names.includes(machine)), "A machine was replaced because it was cut off");
}

async function rollsBack({ world, pool, visitors }: Scene): Promise<void> {
  const before = await pool.names();
  const known = new Set(world.site.cloud.machines().map(({ name }) => name));
  await visitors.report();
  const [instance, address, registered, ready] = Array(4).fill("45s");
  await world.patch(policyPath, { spec: { join: { instance, address, registered, ready } } });
  await world.observed(promisedBy({ ready: 3, machines: 4 }), async () => {
    await world.patch(profilePath, { spec: brokenProfile.spec });
    await pool.until("the pool rolled back", ({ phase }) => phase === "RolledBack");
  });
  const { conditions, quarantine, history } = await pool.until("the verdict", ({ phase }) => phase === "RolledBack");
  const verdict = conditions.find(({ type }) => type === "RolledBack");
  assert.equal(verdict?.status, "True");
  assert.match(
    verdict?.message ?? "",
    /unknown flag: --no-such-flag/,
    "Expected the reason in the machine's own report",
  );
  assert.deepEqual([quarantine?.length, history?.at(-1)?.outcome], [1, "RolledBack"]);
  assert.deepEqual(await pool.names(), before, "Expected all working machines to stay");
  const tried = world.site.cloud.machines().map(({ name }) => name).filter((name) => !known.has(name));
  assert.deepEqual([tried.length, await pool.containersOf([...before, ...tried])], [1, before]);
  wereServed(await visitors.report());
}
