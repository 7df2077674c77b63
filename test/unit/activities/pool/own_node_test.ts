import { deepEqual, equal, rejects } from "node:assert/strict";
import { awaitNodeEmptied, awaitOwnNodeDrained } from "../../../../activities/pool/stages.ts";
import { backendOf } from "../../../../activities/backends/registry.ts";
import type { DrainOrder, PoolRef } from "../../../../workflows/contracts/mod.ts";
import { type ActivityRun, inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { machine, machineSet, node, pod, pool } from "../../../support/machine_objects.ts";

const rules = { timeout: null, onBlocked: "Force", localStorage: "Delete", order: "AllAtOnce" } as const;
const controlPlane = "node-role.kubernetes.io/control-plane";
const nodePool: PoolRef = { kind: "NodePool", namespace: "fleet", name: "node-pool.gpu" };

/**
 * Returns a cluster with machine "a" of the pool, "b" of another pool, control plane "c", "node-x" without a machine,
 * and "node-g" of a NodePool; each node has one pod.
 */
function kubeWith(): FakeKube {
  const kube = new FakeKube();
  kube.put("machinesets", machineSet());
  const owner = { ownerReferences: [{ kind: "MachineSet", name: "other-1", uid: "uid-of-other-1" }] };
  kube.put("machines", machine("a"));
  kube.put("machines", machine("b", { metadata: owner }));
  const labels = { [controlPlane]: "", gpu: "yes" };
  const rules = machine("c", { status: { nodeRef: { name: "node-c" } } });
  kube.put("machines", rules);
  for (const name of ["node-a", "node-b", "node-x"]) kube.put("nodes", node(name));
  kube.put("nodes", { ...node("node-c"), metadata: { name: "node-c", labels } });
  kube.put("nodes", { ...node("node-g"), metadata: { name: "node-g", labels: { gpu: "yes" } } });
  for (const name of ["a", "b", "c", "g", "x"]) kube.put("pods", pod(`web-${name}`, `node-${name}`));
  const image = { reference: `registry.example/os@sha256:${"a".repeat(64)}` };
  const spec = { driver: "bootc", image, nodeSelector: { matchLabels: { gpu: "yes" } } };
  kube.put("nodepools", { metadata: { namespace: "fleet", name: "gpu" }, spec });
  return kube;
}

interface Named {
  pool?: PoolRef;
  machine: string;
  node: string;
}

function drain(
  kube: FakeKube,
  named: Named,
  { await: step = awaitNodeEmptied, ...run }: ActivityRun & { await?: typeof awaitNodeEmptied } = {},
): ReturnType<typeof awaitNodeEmptied> {
  const order: DrainOrder = { pool, until: Date.now() + 60_000, rules, known: "", force: true, ...named };
  return inActivity(() => step(kube.client, order), run);
}

const foreign: [what: string, named: Named, type: string][] = [
  ["a node that belongs to no machine", { machine: "a", node: "node-x" }, "MachineGone"],
  ["a node that belongs to another machine than the named one", { machine: "a", node: "node-b" }, "MachineGone"],
  ["the node of a machine of another pool", { machine: "b", node: "node-b" }, "MachineGone"],
  ["a node if the named machine does not exist", { machine: "gone", node: "node-x" }, "MachineGone"],
  ["a control plane", { machine: "c", node: "node-c" }, "ControlPlaneRefused"],
  ["a node that the NodePool does not select", { pool: nodePool, machine: "node-x", node: "node-x" }, "MachineGone"],
  ["a node that is not the NodePool's machine", { pool: nodePool, machine: "node-g", node: "node-x" }, "MachineGone"],
  ["a control plane for a NodePool", { pool: nodePool, machine: "node-c", node: "node-c" }, "MachineGone"],
];

for (const [what, named, type] of foreign) {
  Deno.test(`fault S3 drain: neither cordons nor drains ${what}, also when the heartbeat of a previous attempt claims that the drain began`, async () => {
    const kube = kubeWith();
    await rejects(drain(kube, named), { type, nonRetryable: true });
    await rejects(drain(kube, named, { await: awaitOwnNodeDrained }), { type });
    await rejects(drain(kube, named, { attempt: 2, heartbeatDetails: { lookedAt: Date.now() } }), { type });
    deepEqual(kube.writes, []);
  });
}

Deno.test("fault S3 drain: cordons and drains a node of the pool, and treats a missing node as drained", async () => {
  for (const named of [{ machine: "a", node: "node-a" }, { pool: nodePool, machine: "node-g", node: "node-g" }]) {
    const kube = kubeWith();
    const seen = await drain(kube, named);
    equal("outcome" in seen && seen.outcome, "Drained");
    equal(kube.writes.some((each) => each.startsWith(`patch nodes ${named.node}`)), true);
  }
  const seen = await drain(kubeWith(), { machine: "gone", node: "node-gone" });
  equal("outcome" in seen && seen.outcome, "Drained");
});

Deno.test("fault S3 drain: drains the node of a machine whose MachineSet was already deleted", async () => {
  const kube = kubeWith();
  kube.remove("machinesets", "pool-hash-1", "fleet");
  const seen = await drain(kube, { machine: "a", node: "node-a" });
  equal("outcome" in seen && seen.outcome, "Drained");
});

Deno.test("fault S3: a node that two machines name is neither cordoned nor drained for either", async () => {
  const kube = kubeWith();
  kube.put("machines", machine("twin", { status: { nodeRef: { name: "node-a" } } }));
  for (const name of ["a", "twin"]) {
    await rejects(drain(kube, { machine: name, node: "node-a" }), { type: "MachineGone", nonRetryable: true });
  }
  deepEqual(kube.writes, []);
});

Deno.test("fault S3 release: uncordons only the machine's own node, also when the order names another node", async () => {
  const kube = kubeWith();
  kube.put("machines", machine("a", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }));
  const orders = backendOf(kube.client, pool).orders;
  await orders?.release({ pool, machine: "a", node: "node-x" });
  deepEqual(kube.writes.filter((each) => each.includes("nodes")), []);
  await orders?.release({ pool, machine: "a", node: "node-a" });
  deepEqual(kube.writes.filter((each) => each.includes("nodes")), ["patch nodes node-a"]);
});
