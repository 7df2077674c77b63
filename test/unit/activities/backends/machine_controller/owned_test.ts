import { deepEqual, rejects } from "node:assert/strict";
import { readMembers } from "../../../../../activities/pool/read_pool.ts";
import { readDesired } from "../../../../../activities/pool/read_desired.ts";
import { FakeKube, type Stored } from "../../../../support/fake_kube.ts";
import { machine, machineDeployment, machineSet, node, pool, putPool } from "../../../../support/machine_objects.ts";

const twin = { ...pool, name: "twin" };

function ownedBy(kind: string, owner: string): { ownerReferences: Record<string, unknown>[] } {
  return { ownerReferences: [{ kind, name: owner, uid: `uid-of-${owner}` }] };
}

/** Two pools that select by the same labels, each with its own set and machine. */
function twins(): FakeKube {
  const kube = new FakeKube();
  putPool(kube);
  kube.put("machinedeployments", machineDeployment({ metadata: { ...twin, uid: "uid-of-twin" } }));
  const set = machineSet("1", "hash-2");
  kube.put("machinesets", {
    metadata: { ...set.metadata, name: "twin-hash-2", ...ownedBy("MachineDeployment", "twin") },
  });
  putMachine(kube, machine("own"));
  putMachine(kube, machine("other", { hash: "hash-2", metadata: ownedBy("MachineSet", "twin-hash-2") }));
  return kube;
}

function putMachine(kube: FakeKube, made: Stored): void {
  kube.put("machines", made);
  kube.put("nodes", node(`node-${made.metadata.name}`));
}

async function names(kube: FakeKube, of = pool): Promise<string[]> {
  return (await readMembers(kube.client, of)).map(({ id }) => id);
}

Deno.test("owned: two pools with the same labels each see only their own machines", async () => {
  const kube = twins();
  deepEqual([await names(kube), await names(kube, twin)], [["own"], ["other"]]);
});

Deno.test("owned: two pools with the same labels each see only the set of their own template", async () => {
  const kube = twins();
  const hashes = await Promise.all([pool, twin].map(async (each) => {
    const seen = await readDesired({ kube: kube.client, profileNamespace: "kube-system" }, each);
    return seen.state === "Present" && seen.desired.templateHash;
  }));
  deepEqual(hashes, ["hash-1", "hash-2"]);
});

Deno.test("owned: excludes a machine without an owner, or whose set has no owner", async () => {
  const kube = twins();
  putMachine(kube, machine("stray", { metadata: { ownerReferences: [] } }));
  const orphaned = machineSet("0", "hash-9").metadata;
  kube.put("machinesets", { metadata: { ...orphaned, ownerReferences: [] } });
  putMachine(kube, machine("orphan", { hash: "hash-9" }));
  deepEqual([await names(kube), await names(kube, twin)], [["own"], ["other"]]);
});

Deno.test("owned: excludes a set of an earlier MachineDeployment with the same name", async () => {
  const kube = twins();
  const earlier = [{ kind: "MachineDeployment", name: "pool", uid: "uid-of-an-earlier-pool" }];
  kube.put("machinesets", { metadata: { ...machineSet("1", "hash-7").metadata, ownerReferences: earlier } });
  putMachine(kube, machine("late", { hash: "hash-7" }));
  deepEqual(await names(kube), ["own"]);
});

Deno.test("owned: matchExpressions select as in Kubernetes, alone and with matchLabels", async () => {
  const expressions: [object[], string[]][] = [
    [[{ key: "pool", operator: "In", values: ["pool", "x"] }], ["own"]],
    [[{ key: "pool", operator: "Exists" }, { key: "tier", operator: "DoesNotExist" }], ["own"]],
    [[{ key: "tier", operator: "NotIn", values: ["db"] }], ["own"]],
    [[{ key: "tier", operator: "Exists" }], []],
  ];
  for (const [matchExpressions, expected] of expressions) {
    const kube = twins();
    kube.put("machinedeployments", machineDeployment({ spec: { selector: { matchExpressions } } }));
    deepEqual(await names(kube), expected, JSON.stringify(matchExpressions));
  }
});

Deno.test("owned: refuses an empty selector, which would match all machines", async () => {
  for (const selector of [{}, { matchLabels: {} }, { matchExpressions: [] }]) {
    const kube = twins();
    kube.put("machinedeployments", machineDeployment({ spec: { selector } }));
    await rejects(names(kube), { type: "ObjectInvalid", nonRetryable: true });
  }
});
