import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { keepMachines } from "../../../../../activities/backends/machine_controller/keep_machines.ts";
import { awaitDesiredSettled } from "../../../../../activities/pool/read_desired.ts";
import { strayNode } from "../../../../../activities/backends/registry.ts";
import type { Keeping } from "../../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../../support/activity_context.ts";
import { FakeKube } from "../../../../support/fake_kube.ts";
import {
  hold,
  machine,
  machineDeployment,
  machineSet,
  pool,
  providerConfig,
  revisionKey,
} from "../../../../support/machine_objects.ts";

const before = "docker://example/ubuntu:1";
const after = "docker://example/ubuntu:2";

interface Template {
  metadata: { labels: Record<string, string> };
  spec: object;
}

function template(image: string, kubelet = "1.35.3"): Template {
  return {
    metadata: { labels: { pool: "pool" } },
    spec: { versions: { kubelet }, providerSpec: { value: providerConfig(image) } },
  };
}

function numbered(hash: string, { metadata, ...rest }: Template): Template {
  return { ...rest, metadata: { labels: { ...metadata.labels, "machine-template-hash": hash } } };
}

interface Changed {
  wanted?: Template;
  surge?: number;
  /** Names of the NodePools that select the nodes. */
  nodePools?: string[];
}

/**
 * Returns a pool with two machines of the first MachineSet, a held new machine of the second MachineSet, and NodePools
 * that select the nodes.
 */
function changedPool({ wanted = template(after), surge = 1, nodePools = ["edge"] }: Changed = {}): FakeKube {
  const kube = new FakeKube();
  const strategy = { rollingUpdate: { maxSurge: surge } };
  const spec = { replicas: 2, selector: { matchLabels: { pool: "pool" } }, strategy, template: wanted };
  kube.put("machinedeployments", machineDeployment({ annotations: { [revisionKey]: "2" }, spec }));
  putSet(kube, "1", template(before));
  putSet(kube, "2", wanted);
  for (const name of ["a", "b"]) {
    kube.put("machines", machine(name));
    kube.put("nodes", { metadata: { name: `node-${name}`, uid: name, labels: { pool: "pool" } }, spec: {} });
  }
  const newcomer = { hash: "hash-2", annotations: { [hold]: "us" }, finalizers: [], status: {} };
  kube.put("machines", machine("new", newcomer));
  for (const name of nodePools) putNodePool(kube, name);
  return kube;
}

function putSet(kube: FakeKube, nth: string, made: Template): void {
  const set = machineSet(nth, `hash-${nth}`);
  const metadata = { ...set.metadata, uid: `uid-of-pool-hash-${nth}` };
  kube.put("machinesets", { metadata, spec: { template: numbered(`hash-${nth}`, made) } });
}

function putNodePool(kube: FakeKube, name: string): void {
  const image = { reference: `registry.example/os@sha256:${"a".repeat(64)}` };
  kube.put("nodepools", {
    metadata: { namespace: "fleet", name, uid: `uid-of-${name}`, generation: 1 },
    spec: { nodeSelector: { matchLabels: { pool: "pool" } }, driver: "bootc", image },
  });
}

function keep(kube: FakeKube): Promise<Keeping> {
  kube.writes.length = 0;
  return inActivity(() => keepMachines(kube.client, pool, (nodes) => strayNode(kube.client, nodes)));
}

function templateOf(kube: FakeKube, set: string): unknown {
  return (kube.get("machinesets", set, "fleet")?.["spec"] as { template: unknown }).template;
}

async function assertRefused(kube: FakeKube, why: RegExp): Promise<void> {
  const kept = await keep(kube);
  equal(kept.outcome, "Refused");
  match("message" in kept ? kept.message : "", why);
  deepEqual(kube.writes, []);
}

Deno.test("keepMachines: writes the new template into the MachineSet that has the machines, and keeps that MachineSet's own label", async () => {
  const kube = changedPool();
  deepEqual(await keep(kube), { outcome: "Kept" });
  deepEqual(templateOf(kube, "pool-hash-1"), numbered("hash-1", template(after)));
  deepEqual(templateOf(kube, "pool-hash-2"), numbered("hash-2", template(after)));
});

Deno.test("keepMachines: writes nothing more until machine-controller has reacted", async () => {
  const kube = changedPool();
  await keep(kube);
  deepEqual([await keep(kube), kube.writes], [{ outcome: "Pending" }, []]);
});

Deno.test("keepMachines: writes nothing after machine-controller has reacted", async () => {
  const kube = changedPool();
  await keep(kube);
  for (const [nth, revision] of [["1", "3"], ["2", "2"]] as const) {
    const set = kube.get("machinesets", `pool-hash-${nth}`, "fleet");
    const annotations = { [revisionKey]: revision };
    kube.put("machinesets", { ...set, metadata: { ...set?.metadata, name: `pool-hash-${nth}`, annotations } });
  }
  const deployment = kube.get("machinedeployments", "pool", "fleet");
  const metadata = { ...pool, uid: "uid-of-pool", annotations: { [revisionKey]: "3" } };
  kube.put("machinedeployments", { ...deployment, metadata });
  deepEqual([await keep(kube), kube.writes], [{ outcome: "Unneeded" }, []]);
});

Deno.test("keepMachines: leaves a change with the same image to a rollout", async () => {
  const kube = changedPool({ wanted: template(before, "1.36.1") });
  deepEqual([await keep(kube), kube.writes], [{ outcome: "Unneeded" }, []]);
});

Deno.test("keepMachines: leaves machines alone while the pool is paused and its image was changed during the pause", async () => {
  const kube = changedPool();
  kube.remove("machinesets", "pool-hash-2", "fleet");
  kube.remove("machines", "new", "fleet");
  const deployment = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  const metadata = { ...deployment.metadata, annotations: { [revisionKey]: "1" } };
  kube.put("machinedeployments", { ...deployment, metadata, spec: { ...deployment["spec"] as object, paused: true } });
  deepEqual([await keep(kube), kube.writes], [{ outcome: "Unneeded" }, []]);
});

Deno.test("keepMachines: keeps the machines of a pool that was paused after machine-controller had observed the new image", async () => {
  const kube = changedPool();
  const deployment = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  kube.put("machinedeployments", { ...deployment, spec: { ...deployment["spec"] as object, paused: true } });
  deepEqual(await keep(kube), { outcome: "Kept" });
});

Deno.test("keepMachines: refuses a change of more than the image", async () => {
  await assertRefused(changedPool({ wanted: template(after, "1.36.1") }), /more than the image changes/);
});

Deno.test("keepMachines: refuses when no NodePool or more than one selects the nodes", async () => {
  await assertRefused(changedPool({ nodePools: [] }), /node "node-a" must be selected by exactly one NodePool/);
  await assertRefused(changedPool({ nodePools: ["edge", "other"] }), /must be selected by exactly one NodePool/);
});

Deno.test("keepMachines: refuses without surge, because machine-controller may have deleted a machine already", async () => {
  await assertRefused(changedPool({ surge: 0 }), /maxSurge 0/);
});

Deno.test("keepMachines: refuses during a replacement", async () => {
  const kube = changedPool();
  kube.put("machines", machine("new", { hash: "hash-2" }));
  await assertRefused(kube, /machines of 2 templates exist/);
});

Deno.test("keepMachines: refuses while a machine has no node", async () => {
  const kube = changedPool();
  kube.put("machines", machine("b", { status: {} }));
  await assertRefused(kube, /machine "b" does not have a node yet/);
});

Deno.test("keepMachines: returns Pending after a conflict, so that the next reconcile retries", async () => {
  const kube = changedPool();
  kube.onRequest = (request) => {
    if (request.startsWith("patch machinesets")) putSet(kube, "1", template(before));
  };
  deepEqual(await keep(kube), { outcome: "Pending" });
});

/**
 * Returns a pool whose image was changed, kept in place, and then changed back. The MachineSet with the machines still
 * has the name that machine-controller (1.66) gives to the MachineSet of the first template, so machine-controller can
 * neither find nor create a MachineSet for it, and observes no generation (`getNewMachineSet`).
 */
async function revertedPool(policy: object): Promise<FakeKube> {
  const kube = changedPool();
  await keep(kube);
  kube.remove("machines", "new", "fleet");
  const { metadata, spec } = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  kube.put("machinedeployments", {
    metadata: { ...metadata, generation: 3 },
    spec: { ...spec as object, template: template(before) },
    status: { observedGeneration: 2 },
  });
  const [first, second] = ["1", "2"].map((nth) => kube.get("machinesets", `pool-hash-${nth}`, "fleet") ?? machineSet());
  kube.put("machinesets", {
    ...first,
    metadata: { ...first?.metadata, name: "pool-hash-1", annotations: { [revisionKey]: "2" } },
  });
  kube.put("machinesets", {
    ...second,
    metadata: { ...second?.metadata, name: "pool-hash-2", annotations: { [revisionKey]: "1" } },
  });
  kube.put("rolloutpolicies", { metadata: { namespace: "fleet", name: "policy" }, spec: policy });
  kube.onRequest = (request) => {
    if (!request.startsWith("patch machinesets")) return;
    const there = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
    kube.put("machinedeployments", { ...there, status: { observedGeneration: 3 } });
  };
  kube.writes.length = 0;
  return kube;
}

function settle(kube: FakeKube): Promise<unknown> {
  const order = { pool, until: Date.now() + 700 };
  const reader = { kube: kube.client, profileNamespace: "kube-system" };
  return inActivity(() => awaitDesiredSettled(reader, order, 100));
}

Deno.test("awaitDesiredSettled: gives the MachineSet its first image back, for which machine-controller cannot create another MachineSet", async () => {
  const kube = await revertedPool({ onImageChange: "InPlace" });
  await settle(kube);
  deepEqual(templateOf(kube, "pool-hash-1"), numbered("hash-1", template(before)));
});

Deno.test("awaitDesiredSettled: changes no MachineSet if a changed image replaces machines", async () => {
  const kube = await revertedPool({ onImageChange: "Replace" });
  await rejects(settle(kube), { type: "SettleExpired" });
  deepEqual(kube.writes, []);
});
