/** Which machine is deleted, or kept, for a node that could not be updated. */
import { type Cluster, openCluster } from "../../../../activities/cluster.ts";
import type { Makers } from "../../../../activities/backends/contract.ts";
import { makersOf } from "../../../../activities/backends/registry.ts";
import { deepEqual, equal, ok } from "node:assert/strict";
import { noteAnnotation } from "../../../../activities/backends/node_pool/note.ts";
import { awaitNodeGone, ensureNodeReplaced, readMaker } from "../../../../activities/backends/node_pool/replaced.ts";
import type { Maker } from "../../../../workflows/contracts/mod.ts";
import { poolOfNodePool } from "../../../../workflows/commands/start_options.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { interrupted } from "../../../support/interrupted.ts";
import { hold, machine, machineDeployment, machineSet } from "../../../support/machine_objects.ts";

const image = `registry.example/os@sha256:${"b".repeat(64)}`;
const update = { pool: poolOfNodePool("fleet", "edge"), machine: "n1", image, bootId: "" };
const maker: Maker = {
  ...{ pool: { namespace: "fleet", name: "pool" }, machine: "pool-hash-1-a" },
  ...{ machineUid: "uid-of-pool-hash-1-a", nodeUid: "uid-of-n1" },
};
const skipped = "kubermatic.io/skip-eviction";

function putNode(kube: FakeKube, uid: string, note: object = {}): void {
  const annotations = { [noteAnnotation]: JSON.stringify(note) };
  kube.put("nodes", { metadata: { name: "n1", uid, labels: { pool: "edge" }, annotations }, spec: {} });
}

function putMachine(kube: FakeKube, name: string, { uid = "uid-of-n1", metadata = {}, node = "n1" } = {}): void {
  kube.put("machines", machine(name, { metadata, status: { nodeRef: { name: node, uid } } }));
}

/** Returns a node of NodePool "edge", and the machine of that node, which belongs to MachineDeployment "pool". */
function kubeWithNode(): FakeKube {
  const kube = new FakeKube();
  const spec = { nodeSelector: { matchLabels: { pool: "edge" } }, driver: "bootc", image: { reference: image } };
  kube.put("nodepools", { metadata: { namespace: "fleet", name: "edge" }, spec });
  kube.put("machinedeployments", machineDeployment());
  kube.put("machinesets", machineSet());
  putNode(kube, "uid-of-n1", { bootId: "boot-1" });
  putMachine(kube, "pool-hash-1-a");
  putMachine(kube, "pool-hash-1-b", { uid: "uid-of-n2", node: "n2" });
  return kube;
}

const replacing = (kube: Cluster): { kube: Cluster; makers: Makers } => ({ kube, makers: makersOf(kube) });
const found = (kube: FakeKube, more: object = {}): Promise<Maker | null> =>
  inActivity(() => readMaker(replacing(kube.client), { ...update, ...more }));
const replaced = (kube: FakeKube): Promise<string> =>
  inActivity(() => ensureNodeReplaced(replacing(kube.client), { ...update, maker }));

Deno.test("readMaker: finds the machine whose nodeRef has the UID of the node, and writes nothing", async () => {
  const kube = kubeWithNode();
  deepEqual(await found(kube), maker);
  deepEqual(await found(kube, { bootId: "boot-1" }), maker);
  deepEqual(kube.writes, []);
});

const nodesWithoutMachine: Record<string, (kube: FakeKube) => void> = {
  "has no machine": (kube) => kube.remove("machines", "pool-hash-1-a", "fleet"),
  "is gone": (kube) => kube.remove("nodes", "n1"),
  "has two machines": (kube) => putMachine(kube, "pool-hash-1-c"),
  "has the machine of an earlier node with its name": (kube) =>
    putMachine(kube, "pool-hash-1-a", { uid: "uid-of-older" }),
  "has a machine that is being deleted": (kube) =>
    putMachine(kube, "pool-hash-1-a", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
  "has a machine without a set": (kube) => putMachine(kube, "pool-hash-1-a", { metadata: { ownerReferences: [] } }),
  "has a machine whose set was deleted and created again": (kube) => {
    const [set] = kube.all("machinesets");
    if (set) kube.put("machinesets", { ...set, metadata: { ...set.metadata, uid: "uid-of-another" } });
  },
  "has a machine whose MachineDeployment is being deleted": (kube) =>
    kube.put("machinedeployments", machineDeployment({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } })),
  "has a machine whose MachineDeployment is gone": (kube) => kube.remove("machinedeployments", "pool", "fleet"),
  "is in a cluster without machine-controller": (kube) => {
    kube.onRequest = (request) => {
      if (request.startsWith("list machines")) throw answer(404, "NotFound");
    };
  },
};

for (const [what, act] of Object.entries(nodesWithoutMachine)) {
  Deno.test(`readMaker: finds no machine for a node that ${what}`, async () => {
    const kube = kubeWithNode();
    act(kube);
    equal(await found(kube), null);
  });
}

Deno.test("readMaker: finds no machine for a node that is younger than its boot request, or that updates itself", async () => {
  const kube = kubeWithNode();
  putNode(kube, "uid-of-later");
  putMachine(kube, "pool-hash-1-a", { uid: "uid-of-later" });
  equal(await found(kube, { bootId: "boot-1" }), null);
  equal(await found(kubeWithNode(), { image: "FleetLock/default" }), null);
});

Deno.test("ensureNodeReplaced: deletes the machine once, without a second drain", async () => {
  const kube = kubeWithNode();
  equal(await replaced(kube), "Replaced");
  const { metadata } = kube.get("machines", "pool-hash-1-a", "fleet") ?? { metadata: { name: "" } };
  deepEqual([metadata.deletionTimestamp !== undefined, metadata.annotations?.[hold]], [true, undefined]);
  equal(kube.get("nodes", "n1")?.metadata.annotations?.[skipped], "true");
  equal(kube.get("machines", "pool-hash-1-b", "fleet")?.metadata.deletionTimestamp, undefined);
  const before = kube.dump();
  equal(await replaced(kube), "Replaced");
  const timeless = (text: string): string => text.replaceAll(/"resourceVersion":"\d+"/g, "");
  equal(timeless(kube.dump()), timeless(before));
});

async function callsOf(): Promise<number> {
  let calls = 0;
  const never = { at: Infinity, when: "before", then: "alive" } as const;
  const counted = openCluster(interrupted(kubeWithNode().clients, never, () => void calls++));
  await inActivity(() => ensureNodeReplaced(replacing(counted), { ...update, maker }));
  return calls;
}

Deno.test("ensureNodeReplaced: deletes only the node's machine, and leaves no machine held, when it is killed at any request and retried", async () => {
  const calls = await callsOf();
  for (const at of Array(calls).keys()) {
    for (const when of ["before", "after"] as const) {
      const kube = kubeWithNode();
      const broken = openCluster(interrupted(kube.clients, { at, when, then: "dead" }, () => {}));
      await inActivity(() => ensureNodeReplaced(replacing(broken), { ...update, maker })).catch(() => "killed");
      equal(await replaced(kube), "Replaced", `${at} ${when}`);
      const held = kube.all("machines").filter(({ metadata }) => metadata.annotations?.[hold]);
      const leaving = kube.all("machines").filter(({ metadata }) => metadata.deletionTimestamp);
      deepEqual([held, leaving.map(({ metadata }) => metadata.name)], [[], ["pool-hash-1-a"]], `${at} ${when}`);
    }
  }
  ok(calls > 6);
});

Deno.test("ensureNodeReplaced: writes nothing when a new node or a new machine has the same name, or when the machine has no owner", async () => {
  const back = kubeWithNode();
  putNode(back, "uid-of-later");
  putMachine(back, "pool-hash-1-a", { uid: "uid-of-later" });
  const other = kubeWithNode();
  putMachine(other, "pool-hash-1-a", { metadata: { uid: "uid-of-later" } });
  const orphan = kubeWithNode();
  putMachine(orphan, "pool-hash-1-a", { metadata: { ownerReferences: [] } });
  deepEqual([await replaced(back), await replaced(other), await replaced(orphan)], ["Gone", "Kept", "Kept"]);
  deepEqual([...back.writes, ...other.writes, ...orphan.writes], []);
});

Deno.test("awaitNodeGone: returns true when the node is deleted or a new node has its name, and false at the deadline when the node still exists", async () => {
  const until = Date.now();
  const gone = (kube: FakeKube): Promise<boolean> =>
    inActivity(() => awaitNodeGone(kube.client, { ...update, maker, until }));
  const [there, away, other] = [kubeWithNode(), kubeWithNode(), kubeWithNode()];
  away.remove("nodes", "n1");
  putNode(other, "uid-of-later");
  deepEqual([await gone(there), await gone(away), await gone(other)], [false, true, true]);
});
