/**
 * The pace of a rollout: a pause that is requested while the worker is down, a budget that two pools share, and zones
 * that are replaced one after another. API server, Temporal and Ostler's processes are real.
 */
import assert from "node:assert/strict";
import type { MachineView } from "../../deploy/local/cloud/machine_kind.ts";
import { machineDeployment, policiesPath, poolPath, poolsPath, rolloutPolicy, rollTo } from "./pool_objects.ts";
import { testInWorld } from "./shared_world.ts";
import type { World } from "./world.ts";

const zones = ["a", "b"];

// With this timeout, machines that are held for 5 s are recreated before they boot.
const options = { script: { zones }, settings: { OSTLER_JOIN_CLUSTER_TIMEOUT: "10s" } };

testInWorld("rollOutMachineDeployment: keeps the pace of its policy", options, async (world, t) => {
  await t.step(
    "a pause that is requested while the worker is down takes effect when the worker runs again",
    () => pauses(world),
  );
  await t.step("two pools share a budget of one machine", () => shares(world));
  await t.step("zones are replaced one after another", () => zoneByZone(world));
});

async function pauses(world: World): Promise<void> {
  await world.create(poolsPath(), machineDeployment({ name: "paused", replicas: 2 }));
  await world.untilPhase("paused", "Converged");
  await world.patch(poolPath("paused"), rollTo("1.36.1"));
  // Waits until a machine is admitted, and not only planned: an earlier pause would prevent the admission, and no
  // machine would be in progress.
  await world.until(
    "a machine under way",
    async () => (await world.status("paused"))?.underway?.length === 1 && ordered(world, "paused").length === 3,
  );
  const { worker } = world.site.ostler;
  worker.kill("SIGKILL");
  const run = world.temporal.workflow.getHandle("machine-deployment/kube-system/paused");
  await run.signal("pauseRequested", { by: "test", reason: "lunch" });
  await worker.restart();
  const status = await world.until("the pause to hold", async () => {
    const now = await world.status("paused");
    return now?.blockedReason === "Paused" && now.underway?.length === 0 && now.updated === "1/2" && now;
  });
  assert.equal(status.paused, true);
  assert.equal(ordered(world, "paused").length, 3, "Expected two old machines and one new one");
  const held = await world.until("a machine that was held too long", () => heldFor(world, "paused", 5_000));
  await run.executeUpdate("resume", { args: [{ by: "test" }] });
  await world.untilPhase("paused", "Converged");
  assert.equal(ordered(world, "paused").length, 4);
  assert.ok(!ordered(world, "paused").some(({ name }) => name === held), `Expected no instance for machine "${held}"`);
  await world.until("the Event about it", async () => {
    const selector = "involvedObject.name=paused,reason=HeldMachineRecreated";
    const path = `/api/v1/namespaces/kube-system/events?fieldSelector=${selector}`;
    return (await world.list<{ message: string }>(path)).some(({ message }) => message.includes(`"${held}"`));
  });
}

/** Returns the machine of a pool that has been held for `ms` without an instance; undefined if there is none. */
async function heldFor(world: World, pool: string, ms: number): Promise<string | undefined> {
  const path = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";
  const machines = await world.list<{ metadata: { name: string; creationTimestamp: string } }>(path);
  const known = ordered(world, pool).map(({ name }) => name);
  const isOld = (time: string): boolean => Date.now() - Date.parse(time) > ms + 1_000;
  return machines.map(({ metadata }) => metadata).find(({ name, creationTimestamp }) =>
    name.startsWith(`${pool}-`) && !known.includes(name) && isOld(creationTimestamp)
  )?.name;
}

async function shares(world: World): Promise<void> {
  const labels = { budget: "shared" };
  await world.create(policiesPath(), rolloutPolicy("shared", { budget: { cluster: 1 } }, labels));
  const names = ["one", "two"];
  for (const name of names) await world.create(poolsPath(), machineDeployment({ name, replicas: 2, labels }));
  for (const name of names) await world.untilPhase(name, "Converged");
  for (const name of names) await world.patch(poolPath(name), rollTo("1.36.1"));
  for (const name of names) assert.equal((await world.untilPhase(name, "Converged")).updated, "2/2");
  const fresh = names.flatMap((name) => ordered(world, name)).filter(({ kubelet }) => kubelet === "v1.36.1");
  const spans = fresh.map(({ orderedAt, readyAt = "never" }) => [orderedAt, readyAt] as const).sort();
  assert.equal(spans.length, 4);
  for (const [at, [, readyAt]] of spans.slice(0, -1).entries()) {
    const next = spans[at + 1]?.[0] ?? "";
    assert.ok(readyAt < next, `A machine was ordered at ${next}, while another was Ready only at ${readyAt}`);
  }
}

async function zoneByZone(world: World): Promise<void> {
  const labels = { spread: "zones" };
  const spec = { budget: { machines: 2, zones: "OneAfterAnother" } };
  await world.create(policiesPath(), rolloutPolicy("zones", spec, labels));
  await world.create(poolsPath(), machineDeployment({ name: "spread", replicas: 4, surge: 2, labels }));
  await world.untilPhase("spread", "Converged");
  const zoneOf = await nodeZones(world);
  const before = ordered(world, "spread").map(({ name }) => name);
  assert.deepEqual(new Set(before.map((name) => zoneOf.get(name))), new Set(zones));
  const gone: string[] = [];
  await world.patch(poolPath("spread"), rollTo("1.36.1"));
  await world.until("all old machines gone", () => {
    const left = new Set(ordered(world, "spread").filter(({ phase }) => phase !== "deleted").map(({ name }) => name));
    for (const name of before) if (!left.has(name) && !gone.includes(name)) gone.push(name);
    return Promise.resolve(gone.length === before.length);
  }, 180);
  const order = gone.map((name) => zoneOf.get(name));
  const turns = order.filter((zone, at) => zone !== order[at - 1]);
  assert.equal(turns.length, zones.length, `Old machines were replaced in the order of zones ${order.join(", ")}`);
  await world.untilPhase("spread", "Converged");
}

function ordered(world: World, pool: string): MachineView[] {
  return world.site.cloud.machines().filter(({ name }) => name.startsWith(`${pool}-`));
}

async function nodeZones(world: World): Promise<Map<string, string>> {
  const nodes = await world.list<{ metadata: { name: string; labels: Record<string, string> } }>("/api/v1/nodes");
  return new Map(nodes.map(({ metadata }) => [metadata.name, metadata.labels["topology.kubernetes.io/zone"] ?? ""]));
}
