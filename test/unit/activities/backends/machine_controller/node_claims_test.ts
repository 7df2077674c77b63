import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import {
  releaseAll,
  replaceMachine,
  spareMachine,
} from "../../../../../activities/backends/machine_controller/holds.ts";
import { ensureNodeCordoned } from "../../../../../activities/node/cordon.ts";
import { type NodeClaim, type Rival, standingOn } from "../../../../../activities/node/node_claim.ts";
import { awaitMachinesJoined } from "../../../../../activities/pool/await_joined.ts";
import { readMembers } from "../../../../../activities/pool/read_pool.ts";
import type { JoinVerdict, Member } from "../../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../../support/activity_context.ts";
import { answer, FakeKube, type Stored } from "../../../../support/fake_kube.ts";
import { hold, holder, machine, machineSet, node, pool, putPool } from "../../../../support/machine_objects.ts";

const ownerLabel = "machine-controller/owned-by";
const skipEviction = "kubermatic.io/skip-eviction";

interface Given {
  hash?: string;
  created?: string;
  instance?: string;
  node?: string;
  metadata?: Record<string, unknown>;
}

function named(name: string, { hash = "hash-1", created, instance, node: on = "node-a", metadata }: Given): Stored {
  const made = machine(name, {
    hash,
    metadata: { ...metadata, ...(created ? { creationTimestamp: created } : {}) },
    status: {
      nodeRef: { name: on },
      addresses: [{ address: "10.0.0.1" }],
      conditions: [{ type: "Ready", status: "True" }],
    },
  });
  return { ...made, spec: { ...made["spec"] as object, ...(instance ? { providerID: instance } : {}) } };
}

/**
 * Returns a pool in which old machine "a" and new machine "b" both name node "node-a", because the instance of "b" got
 * the address of the instance of "a".
 */
function withTwins({ providerID = "", a = {}, b = {} }: { providerID?: string; a?: Given; b?: Given } = {}): FakeKube {
  const kube = new FakeKube();
  putPool(kube);
  kube.put("machinesets", machineSet("2", "hash-2"));
  kube.put("machines", named("a", { created: "2026-01-01T00:00:00Z", ...a }));
  kube.put("machines", named("b", { created: "2026-01-02T00:00:00Z", hash: "hash-2", ...b }));
  const made = node("node-a");
  const metadata = { ...made.metadata, labels: { [ownerLabel]: "uid-of-b" } };
  kube.put("nodes", { ...made, metadata, spec: providerID ? { providerID } : {} });
  return kube;
}

async function membersOf(kube: FakeKube): Promise<Record<string, Member>> {
  return Object.fromEntries((await readMembers(kube.client, pool)).map((member) => [member.id, member]));
}

async function joining(kube: FakeKube, name: string): Promise<JoinVerdict> {
  const at = Date.now() + 50;
  const deadlines = { instance: at, address: at, registered: at, ready: at };
  const verdict = await inActivity(() =>
    awaitMachinesJoined(kube.client, { pool, kubelet: "1.35.3", machines: [{ machine: name, deadlines }] })
  );
  ok("joined" in verdict);
  return verdict;
}

Deno.test("fault E16: a new machine that names the node of another machine has not joined, and the failure at its deadline contains the reason", async () => {
  const providerID = "kubevirt://a";
  const proven = withTwins({ providerID, a: { instance: "kubevirt://a" }, b: { instance: "kubevirt://b" } });
  for (
    const [kube, says] of [[proven, /node "node-a" belongs to machine "fleet\/a"/], [
      withTwins(),
      /all name node/,
    ]] as const
  ) {
    const { joined, failed } = await joining(kube, "b");
    deepEqual([joined, failed.map(({ rung }) => rung)], [[], ["registered"]]);
    match(failed[0]?.evidence ?? "", says);
  }
});

Deno.test("fault E16: a new machine whose node belongs to an instance without a Machine has not joined", async () => {
  const kube = withTwins({ providerID: "kubevirt://static", b: { instance: "kubevirt://b" } });
  kube.remove("machines", "a", "fleet");
  match((await joining(kube, "b")).failed[0]?.evidence ?? "", /the instance of the machine is "kubevirt:\/\/b"/);
});

Deno.test("fault E16: the machine that the provider ID of the node names has joined", async () => {
  const instances = { a: { instance: "kubevirt://a" }, b: { instance: "kubevirt://b" } };
  const ids = ["kubevirt://a", "KubeVirt://A", "kubermatic://kubevirt/uid-of-a"];
  for (const providerID of ids) {
    const kube = withTwins({ providerID, ...instances });
    equal((await joining(kube, "a")).joined[0]?.node, "node-a", providerID);
    const { a, b } = await membersOf(kube);
    deepEqual([a?.phase, a?.node, a?.kept], ["Ready", "node-a", undefined], providerID);
    // Machine "b" is returned without a node, so that its removal does not drain the node of machine "a".
    deepEqual([b?.phase, b?.node, b?.kept, b?.ill], ["Joining", undefined, undefined, undefined], providerID);
  }
});

Deno.test("fault E16: if two machines name a node without a provider ID, neither is replaced, and only the older machine has joined", async () => {
  const { a, b } = await membersOf(withTwins());
  deepEqual([a?.phase, a?.kept, b?.phase, b?.kept], ["Ready", "Unclear", "Joining", "Unclear"]);
  match(b?.unclear ?? "", /machines "fleet\/b" and "fleet\/a" all name node "node-a"/);
});

Deno.test("fault E16: a machine in another namespace that names the same node also makes it unclear to which machine the node belongs", async () => {
  const kube = withTwins();
  const other = named("other", { created: "2025-01-01T00:00:00Z" });
  kube.put("machines", { ...other, metadata: { ...other.metadata, namespace: "elsewhere" } });
  kube.remove("machines", "a", "fleet");
  const { b } = await membersOf(kube);
  match(b?.unclear ?? "", /"elsewhere\/other"/);
});

Deno.test("fault E16: a node belongs to the only machine that names it, whatever format its provider ID has", async () => {
  for (const providerID of ["", "openstack://region-1/i-7", "kubermatic://kubevirt/restored", "other://x"]) {
    const kube = withTwins({ providerID, b: { instance: "openstack:///I-7" } });
    kube.remove("machines", "a", "fleet");
    deepEqual(
      [(await membersOf(kube))["b"]?.phase, (await joining(kube, "b")).joined.length],
      ["Ready", 1],
      providerID,
    );
  }
});

Deno.test("fault E16: the deletion of a machine neither drains nor deletes the node of another machine", async () => {
  for (const kube of [withTwins(), withTwins({ providerID: "kubermatic://x/uid-of-a" })]) {
    const order: string[] = [];
    kube.onChange = ({ type, plural, object }) => {
      if (plural !== "machines" || object.metadata.name !== "b") return;
      const { nodeRef } = object["status"] as { nodeRef?: object };
      const { annotations = {}, deletionTimestamp } = object.metadata;
      order.push(
        [type, annotations[hold] ?? "free", deletionTimestamp ? "leaving" : "", nodeRef ? "named" : ""].join(" "),
      );
    };
    await replaceMachine(kube.client, { pool, machine: "b", node: "node-a" });
    // machine-controller skips the machine while it is held.
    deepEqual(order, [
      `MODIFIED ${holder}  named`,
      `MODIFIED ${holder} leaving named`,
      `MODIFIED ${holder} leaving `,
      "MODIFIED free leaving ",
    ]);
    const { labels = {}, annotations = {} } = kube.get("nodes", "node-a")?.metadata ?? {};
    deepEqual([labels[ownerLabel], annotations[skipEviction]], ["uid-of-a", undefined]);
  }
});

/** Returns whether machine "b" still names the node and is still held, and the UID in the owner label of the node. */
function bindingOf(kube: FakeKube): { names: boolean; isHeld: boolean; owner: string | undefined } {
  const { metadata, status } = kube.get("machines", "b", "fleet") ?? { metadata: { annotations: {} } } as never;
  return {
    names: Boolean((status as { nodeRef?: object }).nodeRef),
    isHeld: Boolean(metadata.annotations?.[hold]),
    owner: kube.get("nodes", "node-a")?.metadata.labels?.[ownerLabel],
  };
}

Deno.test("fault E16: a deletion that fails between two writes never ends the hold of the machine while the owner label of the node names that machine", async () => {
  const failures: [what: string, plural: string][] = [["the label", "patch nodes"], ["nodeRef", "patch machines"]];
  for (const [what, write] of failures) {
    const kube = withTwins();
    let isLeaving = false;
    let isLeft = true;
    kube.onChange = ({ plural, object }) => {
      if (plural !== "machines" || object.metadata.name !== "b") return;
      isLeaving = object.metadata.deletionTimestamp !== undefined;
      const { isHeld, owner } = bindingOf(kube);
      ok(isHeld || !isLeaving || owner === "uid-of-a", what);
    };
    kube.onRequest = (request) => {
      if (!isLeft || !isLeaving || !request.startsWith(write)) return;
      isLeft = false;
      throw answer(500, "InternalError");
    };
    await rejects(replaceMachine(kube.client, { pool, machine: "b", node: "node-a" }), { type: "ApiUnavailable" });
    equal(bindingOf(kube).isHeld, true, what);
    await replaceMachine(kube.client, { pool, machine: "b", node: "node-a" });
    deepEqual(bindingOf(kube), { names: false, isHeld: false, owner: "uid-of-a" }, what);
  }
});

Deno.test("fault E16: the hold of a machine that names the node of another machine stays when the machine is deleted but the answer to the deletion is lost", async () => {
  const kube = withTwins();
  let isLost = true;
  kube.onChange = ({ plural, object: { metadata } }) => {
    if (plural !== "machines" || metadata.name !== "b" || !metadata.deletionTimestamp) return;
    const { names, isHeld } = bindingOf(kube);
    ok(isHeld || !names, "machine-controller would drain and delete the node of machine a");
    if (!isLost) return;
    isLost = false;
    throw answer(504, "Timeout");
  };
  await rejects(replaceMachine(kube.client, { pool, machine: "b", node: "node-a" }), { type: "ApiUnavailable" });
  deepEqual(bindingOf(kube), { names: true, isHeld: true, owner: "uid-of-b" });
  await replaceMachine(kube.client, { pool, machine: "b", node: "node-a" });
  deepEqual(bindingOf(kube), { names: false, isHeld: false, owner: "uid-of-a" });
});

Deno.test("fault E16: the release of a machine that is being deleted neither uncordons nor deletes the node of another machine", async () => {
  const leaving = { deletionTimestamp: "2026-01-03T00:00:00Z", annotations: { [hold]: holder } };
  const release = [
    (kube: FakeKube) => spareMachine(kube.client, { pool, machine: "b", release: true }),
    (kube: FakeKube) => releaseAll(kube.client, pool),
  ];
  for (const [nth, each] of release.entries()) {
    const kube = withTwins({ b: { metadata: leaving }, a: { metadata: { labels: { other: "pool" } } } });
    await ensureNodeCordoned(kube.client, { pool, node: "node-a" });
    await each(kube);
    deepEqual(bindingOf(kube), { names: false, isHeld: false, owner: "uid-of-a" }, `${nth}`);
    deepEqual(kube.get("nodes", "node-a")?.["spec"], { unschedulable: true }, `${nth}`);
  }
});

Deno.test("fault E16: spareMachine does not uncordon a node whose provider ID names another machine", async () => {
  const kube = withTwins({ providerID: "kubermatic://x/uid-of-a" });
  await ensureNodeCordoned(kube.client, { pool, node: "node-a" });
  await spareMachine(kube.client, { pool, machine: "b" });
  deepEqual(kube.get("nodes", "node-a")?.["spec"], { providerID: "kubermatic://x/uid-of-a", unschedulable: true });
  await spareMachine(kube.client, { pool, machine: "a" });
  deepEqual(kube.get("nodes", "node-a")?.["spec"], { providerID: "kubermatic://x/uid-of-a" });
});

function rival(machine: string, more: Partial<Rival> = {}): Rival {
  return { machine, ids: [`x://${machine}`], uid: machine, isElder: true, ...more };
}

function claim(rivals: Rival[] = []): NodeClaim {
  return { machine: "own", ids: ["x://own"], instance: "x://own", rivals };
}

Deno.test("fault E16 standingOn: a node with the provider ID of two machines belongs to neither", () => {
  const { state } = standingOn({ name: "n", providerId: "x://own" }, claim([rival("own")]));
  equal(state, "Unclear");
});

Deno.test("fault E16 standingOn: a provider ID of another scheme does not show that the node belongs to another machine", () => {
  equal(standingOn({ name: "n", providerId: "y://other" }, claim()).state, "Own");
  equal(standingOn({ name: "n" }, claim()).state, "Own");
  equal(standingOn({ name: "n", providerId: "x://other" }, claim()).state, "Unclear");
});
