import { deepEqual, match, notEqual } from "node:assert/strict";
import { LateSets } from "../../../../../activities/backends/machine_controller/mod.ts";
import { observePool } from "../../../../../activities/backends/machine_controller/observe_pool.ts";
import { countedReady, watchTemplates } from "../../../../../activities/backends/machine_controller/pool_watch.ts";
import { readMembers } from "../../../../../activities/pool/read_pool.ts";
import { eventually } from "../../../../support/eventually.ts";
import { FakeKube } from "../../../../support/fake_kube.ts";
import { FakeStreams } from "../../../../support/fake_streams.ts";
import { machine, machineSet, node, pool, putPool } from "../../../../support/machine_objects.ts";

const wakeKey = "ostler.dev/woken-at";
const second = 1_000;
const start = Date.parse("2026-01-01T00:00:00Z");

function kubeWith(...names: string[]): FakeKube {
  const kube = new FakeKube();
  putPool(kube);
  for (const name of names) {
    kube.put("machines", machine(name));
    kube.put("nodes", node(`node-${name}`));
  }
  return kube;
}

function count(kube: FakeKube, readyReplicas: number): void {
  kube.put("machinesets", { ...machineSet(), status: { readyReplicas } });
}

async function lookAfter(sets: LateSets, kube: FakeKube, seconds: number): Promise<void> {
  const members = await readMembers(kube.client, pool);
  const { counted } = await observePool(kube.client, pool);
  await sets.wake({ members, counted }, start + seconds * second);
}

Deno.test("LateSets: annotates one Machine of a MachineSet that counts too few Ready nodes, and repeats that until the count is right", async () => {
  const kube = kubeWith("a", "b");
  count(kube, 1);
  const sets = new LateSets(kube.client, pool, start);
  await lookAfter(sets, kube, 5);
  deepEqual(kube.writes, [], "Touched a Machine too early: machine-controller may still notice by itself");
  await lookAfter(sets, kube, 10);
  deepEqual(kube.writes, ["patch machines fleet/a"]);
  const first = kube.get("machines", "a", "fleet")?.metadata.annotations?.[wakeKey];
  match(first ?? "", /^2026-01-01T00:00:10/);
  await lookAfter(sets, kube, 15);
  notEqual(kube.get("machines", "a", "fleet")?.metadata.annotations?.[wakeKey], first);
});

Deno.test("LateSets: writes nothing until machine-controller has had time to correct the count by itself", async () => {
  const kube = kubeWith("a", "b");
  count(kube, 1);
  const sets = new LateSets(kube.client, pool, start);
  await lookAfter(sets, kube, 5);
  count(kube, 2);
  await lookAfter(sets, kube, 10);
  count(kube, 1);
  await lookAfter(sets, kube, 15);
  deepEqual(kube.writes, []);
});

Deno.test("LateSets: ignores sets with the right count, nodes that are not Ready, and leaving machines", async () => {
  const kube = kubeWith("a", "b", "c");
  kube.put("nodes", node("node-b", { ready: false }));
  kube.put("machines", machine("c", { metadata: { deletionTimestamp: "2026-01-02T00:00:00Z" } }));
  count(kube, 1);
  const sets = new LateSets(kube.client, pool, start);
  for (const seconds of [5, 10, 15]) await lookAfter(sets, kube, seconds);
  deepEqual(kube.writes, []);
});

Deno.test("LateSets: compares the counts at most every 5 s, with the members and counts that its caller has read", async () => {
  const kube = kubeWith("a");
  count(kube, 0);
  const sets = new LateSets(kube.client, pool, start);
  for (const seconds of [1, 2, 3, 4, 5, 6, 9]) await lookAfter(sets, kube, seconds);
  deepEqual(kube.writes, []);
  await lookAfter(sets, kube, 10);
  deepEqual(kube.writes, ["patch machines fleet/a"]);
});

Deno.test("LateSets: annotates a Machine while machine-controller counts a Ready node as not available yet, because it does not look again after minReadySeconds", async () => {
  const kube = kubeWith("a", "b");
  const status = { readyReplicas: 2, availableReplicas: 1 };
  kube.put("machinesets", { ...machineSet(), spec: { minReadySeconds: 60 }, status });
  const sets = new LateSets(kube.client, pool, start);
  const woken: number[] = [];
  for (let seconds = 5; seconds <= 120; seconds += 5) {
    await lookAfter(sets, kube, seconds);
    if (kube.writes.splice(0).includes("patch machines fleet/a")) woken.push(seconds);
  }
  deepEqual(woken, [10, 15, 25, 45, 75, 105], "Woke the controller at other times than with growing pauses");
});

Deno.test("LateSets: asks for the next read no earlier than 5 s after the last one, even if an event caused that one", async () => {
  const kube = kubeWith("a", "b");
  count(kube, 1);
  const { client } = new FakeStreams(kube);
  watchTemplates(client);
  await eventually("the watches", () => countedReady(client, pool) !== undefined);
  const sets = new LateSets(client, pool, start);
  for (const seconds of [5, 10, 15]) await lookAfter(sets, kube, seconds);
  deepEqual(sets.lookBy([]), start + 25 * second);
  await lookAfter(sets, kube, 22);
  deepEqual(sets.lookBy([]), start + 27 * second);
});

Deno.test("LateSets: ignores availableReplicas without minReadySeconds", async () => {
  const kube = kubeWith("a", "b");
  kube.put("machinesets", { ...machineSet(), spec: { minReadySeconds: 0 }, status: { readyReplicas: 2 } });
  const sets = new LateSets(kube.client, pool, start);
  for (const seconds of [5, 10, 15]) await lookAfter(sets, kube, seconds);
  deepEqual(kube.writes, []);
});
