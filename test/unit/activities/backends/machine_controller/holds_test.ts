import { deepEqual, equal, rejects } from "node:assert/strict";
import { openCluster } from "../../../../../activities/cluster.ts";
import { ensureNodeCordoned } from "../../../../../activities/node/cordon.ts";
import {
  admitMachine,
  chooseMachine,
  releaseMachine,
  replaceMachine,
  spareMachine,
} from "../../../../../activities/backends/machine_controller/holds.ts";
import { answer, FakeKube } from "../../../../support/fake_kube.ts";
import { hold, holder, machine, mark, node, pool } from "../../../../support/machine_objects.ts";

const target = { pool, machine: "a" };

const leaving = { deletionTimestamp: "2026-01-01T00:00:00Z" };

function skips(kube: FakeKube): string | undefined {
  return kube.get("nodes", "node-a")?.metadata.annotations?.["kubermatic.io/skip-eviction"];
}

function kubeWith(annotations: Record<string, string>, metadata: Record<string, unknown> = {}): FakeKube {
  const kube = new FakeKube();
  kube.put("machines", machine("a", { annotations, metadata }));
  kube.put("nodes", node("node-a"));
  return kube;
}

function annotationsOf(kube: FakeKube): Record<string, string> {
  return kube.get("machines", "a", "fleet")?.metadata.annotations ?? {};
}

Deno.test("chooseMachine: writes the workflow ID once into the annotations that mark and hold the machine", async () => {
  const kube = kubeWith({ other: "stays" });
  await chooseMachine(kube.client, target);
  await chooseMachine(kube.client, target);
  deepEqual(annotationsOf(kube), { other: "stays", [mark]: holder, [hold]: holder });
  deepEqual(kube.writes, ["patch machines fleet/a"]);
});

Deno.test("chooseMachine: leaves the hold and the mark of another controller alone", async () => {
  const kube = kubeWith({ [hold]: "another controller", [mark]: "a person" });
  await chooseMachine(kube.client, target);
  await spareMachine(kube.client, target);
  await releaseMachine(kube.client, target);
  deepEqual(annotationsOf(kube), { [hold]: "another controller", [mark]: "a person" });
});

Deno.test("chooseMachine: fails with MachineGone for a deleted machine", async () => {
  await rejects(chooseMachine(new FakeKube().client, target), { type: "MachineGone", nonRetryable: true });
});

Deno.test("spareMachine: removes hold and mark, and succeeds for a deleted machine", async () => {
  const kube = kubeWith({ [hold]: holder, [mark]: holder, other: "stays" });
  await spareMachine(kube.client, target);
  deepEqual(annotationsOf(kube), { other: "stays" });
  await spareMachine(new FakeKube().client, target);
});

Deno.test("spareMachine: keeps a leaving machine held, so that it continues to run", async () => {
  const kube = kubeWith({ [hold]: holder, [mark]: holder }, leaving);
  await spareMachine(kube.client, target);
  equal(annotationsOf(kube)[hold], holder);
  await spareMachine(kube.client, { ...target, release: true });
  deepEqual(annotationsOf(kube), {});
});

Deno.test("admitMachine: removes only Ostler's hold", async () => {
  const kube = kubeWith({ [hold]: holder });
  await admitMachine(kube.client, target);
  deepEqual(annotationsOf(kube), {});
  const foreign = kubeWith({ [hold]: "another controller" });
  await admitMachine(foreign.client, target);
  deepEqual([annotationsOf(foreign), foreign.writes], [{ [hold]: "another controller" }, []]);
});

const joinTimeoutMs = 900_000;

/** Returns a cluster with machine "a", which has no instance yet and was created `ageMs` ago. */
function kubeWithNew(ageMs: number, annotations: Record<string, string>, metadata = {}): FakeKube {
  const kube = new FakeKube();
  const creationTimestamp = new Date(Date.now() - ageMs).toISOString();
  const isNew = { finalizers: [], status: {} };
  kube.put("machines", machine("a", { annotations, metadata: { ...metadata, creationTimestamp }, ...isNew }));
  return kube;
}

Deno.test("admitMachine: deletes a machine that was held for half of machine-controller's join timeout, still held", async () => {
  const kube = kubeWithNew(460_000, { [hold]: holder, [mark]: holder });
  const held: unknown[] = [];
  kube.onRequest = (request) => {
    if (request === "delete machines fleet/a") held.push(annotationsOf(kube)[hold]);
  };
  equal(await admitMachine(openCluster(kube.clients, { joinTimeoutMs }), target), "Recreated");
  deepEqual([kube.get("machines", "a", "fleet"), held], [undefined, [holder]]);
});

for (
  const [what, ageMs, annotations, metadata] of [
    ["was held for less than half of the join timeout", 440_000, { [hold]: holder }, {}],
    ["is being deleted", 460_000, { [hold]: holder }, { ...leaving, finalizers: ["f"] }],
  ] as const
) {
  Deno.test(`admitMachine: lets a machine boot that ${what}`, async () => {
    const kube = kubeWithNew(ageMs, annotations, metadata);
    equal(await admitMachine(openCluster(kube.clients, { joinTimeoutMs }), target), undefined);
    deepEqual([annotationsOf(kube), kube.writes], [{}, ["patch machines fleet/a"]]);
  });
}

Deno.test("admitMachine: never deletes a machine that has an instance, or that the order admits at any age", async () => {
  const cluster = (kube: FakeKube): ReturnType<typeof openCluster> => openCluster(kube.clients, { joinTimeoutMs });
  const booted = kubeWith({ [hold]: holder });
  equal(await admitMachine(cluster(booted), target), undefined);
  const old = kubeWithNew(460_000, { [hold]: holder });
  equal(await admitMachine(cluster(old), { ...target, anyAge: true }), undefined);
  for (const kube of [booted, old]) deepEqual(kube.writes, ["patch machines fleet/a"]);
});

Deno.test("admitMachine: never deletes a machine that Ostler does not hold, or without a join timeout", async () => {
  for (const annotations of [{}, { [hold]: "another controller" }]) {
    const kube = kubeWithNew(86_400_000, annotations);
    equal(await admitMachine(openCluster(kube.clients, { joinTimeoutMs }), target), undefined);
    deepEqual(kube.writes, []);
  }
  const kube = kubeWithNew(86_400_000, { [hold]: holder });
  equal(await admitMachine(kube.client, target), undefined);
  deepEqual(kube.writes, ["patch machines fleet/a"]);
});

Deno.test("releaseMachine, spareMachine: end holds, marks and cordons from before the cluster was renamed", async () => {
  for (const step of [releaseMachine, spareMachine]) {
    const kube = kubeWith({});
    const before = { ...pool, cluster: "south" };
    await chooseMachine(kube.client, { pool: before, machine: "a" });
    await ensureNodeCordoned(kube.client, { pool: before, node: "node-a" });
    await step(kube.client, { pool: { ...pool, cluster: "north" }, machine: "a" });
    equal(annotationsOf(kube)[hold], undefined);
    if (step === spareMachine) deepEqual([annotationsOf(kube), kube.get("nodes", "node-a")?.["spec"]], [{}, {}]);
  }
});

Deno.test("admitMachine: fails with MachineGone for a deleted machine", async () => {
  await rejects(admitMachine(new FakeKube().client, target), { type: "MachineGone", nonRetryable: true });
});

for (const step of [chooseMachine, admitMachine, releaseMachine, spareMachine]) {
  Deno.test(`${step.name}: edits only annotations, so that GitOps tools see no drift`, async () => {
    const kube = kubeWith(step === chooseMachine ? {} : { [hold]: holder });
    const asWritten = (): object => {
      const { metadata: { name, labels, ownerReferences }, ...rest } = kube.get("machines", "a", "fleet") ??
        machine("");
      return structuredClone({ name, labels, ownerReferences, ...rest });
    };
    const before = asWritten();
    await step(kube.client, target);
    deepEqual([kube.writes, asWritten()], [["patch machines fleet/a"], before]);
  });
}

Deno.test("releaseMachine: sets skip-eviction on the node before it removes the hold of the machine", async () => {
  const kube = kubeWith({ [hold]: holder, [mark]: holder }, leaving);
  await releaseMachine(kube.client, { ...target, node: "node-a" });
  deepEqual(kube.writes, ["patch nodes node-a", "patch machines fleet/a"]);
  equal(kube.get("nodes", "node-a")?.metadata.annotations?.["kubermatic.io/skip-eviction"], "true");
  deepEqual(annotationsOf(kube), { [mark]: holder });
});

Deno.test("fault releaseMachine: releases a machine whose node has no room for annotations, and machine-controller then drains the node itself", async () => {
  const kube = kubeWith({ [hold]: holder, [mark]: holder }, leaving);
  kube.onRequest = (request) => {
    if (request !== "patch nodes node-a") return;
    const causes = [{ reason: "FieldValueTooLong", message: "Too long", field: "metadata.annotations" }];
    const body = { kind: "Status", code: 422, reason: "Invalid", message: "is invalid", details: { causes } };
    throw Object.assign(answer(422, "Invalid"), { body: JSON.stringify(body) });
  };
  await releaseMachine(kube.client, { ...target, node: "node-a" });
  deepEqual([skips(kube), annotationsOf(kube)], [undefined, { [mark]: holder }]);
});

Deno.test("releaseMachine: does not annotate the node of a machine that is absent, or not being deleted, because another machine may use the name", async () => {
  const kube = kubeWith({ [hold]: holder, [mark]: holder });
  await releaseMachine(kube.client, { ...target, node: "node-a" });
  deepEqual([skips(kube), annotationsOf(kube)], [undefined, { [mark]: holder }]);
  kube.remove("machines", "a", "fleet");
  await releaseMachine(kube.client, { ...target, node: "node-a" });
  equal(skips(kube), undefined);
});

Deno.test("releaseMachine: succeeds when node and machine are deleted", async () => {
  await releaseMachine(new FakeKube().client, { ...target, node: "node-a" });
});

Deno.test("spareMachine: uncordons a node that Ostler cordoned", async () => {
  const kube = kubeWith({ [hold]: holder, [mark]: holder });
  await ensureNodeCordoned(kube.client, { pool, node: "node-a" });
  await spareMachine(kube.client, target);
  deepEqual([kube.get("nodes", "node-a")?.["spec"], kube.get("nodes", "node-a")?.metadata.annotations], [{}, {}]);
});

Deno.test("spareMachine: keeps the node of a leaving machine cordoned until its release", async () => {
  const kube = kubeWith({ [hold]: holder, [mark]: holder }, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  await ensureNodeCordoned(kube.client, { pool, node: "node-a" });
  await spareMachine(kube.client, target);
  deepEqual(kube.get("nodes", "node-a")?.["spec"], { unschedulable: true });
  await spareMachine(kube.client, { ...target, release: true });
  deepEqual(kube.get("nodes", "node-a")?.["spec"], {});
});

Deno.test("replaceMachine: deletes the machine before it removes the hold, and succeeds for a deleted machine", async () => {
  const kube = kubeWith({ [hold]: holder });
  await replaceMachine(kube.client, { ...target, drain: true });
  deepEqual(kube.writes, ["delete machines fleet/a", "patch machines fleet/a"]);
  deepEqual(annotationsOf(kube), {});
  kube.remove("machines", "a", "fleet");
  await replaceMachine(kube.client, target);
});

for (const given of [{}, { node: "node-a" }]) {
  Deno.test(`replaceMachine: sets skip-eviction before machine-controller can drain the node, if the order ${given.node ? "names" : "does not name"} the node`, async () => {
    const kube = kubeWith({});
    await replaceMachine(kube.client, { ...target, ...given });
    deepEqual(kube.writes, [
      ...["patch machines fleet/a", "delete machines fleet/a", "patch nodes node-a", "patch machines fleet/a"],
    ]);
    deepEqual([skips(kube), annotationsOf(kube)], ["true", {}]);
  });
}

for (const [what, refused] of [["refused", answer(403, "Forbidden")], ["lost", answer(503, "Unavailable")]] as const) {
  Deno.test(`replaceMachine: leaves no skip-eviction on the node when the request to delete the machine is ${what}`, async () => {
    const kube = kubeWith({});
    kube.onRequest = (request) => {
      if (request.startsWith("delete")) throw refused;
    };
    await rejects(replaceMachine(kube.client, target));
    equal(skips(kube), undefined, "A later drain of this node must still evict its pods");
    deepEqual(annotationsOf(kube), {});
    kube.onRequest = () => {};
    await replaceMachine(kube.client, target);
    deepEqual([skips(kube), annotationsOf(kube)], ["true", {}]);
  });
}

Deno.test("replaceMachine: keeps the hold when the machine is deleted but the answer is lost, so that the node is not drained again", async () => {
  const kube = kubeWith({});
  let isLost = true;
  kube.onChange = ({ object: { metadata } }) => {
    if (!metadata.deletionTimestamp || !isLost) return;
    isLost = false;
    throw answer(504, "Timeout");
  };
  await rejects(replaceMachine(kube.client, target), { type: "ApiUnavailable" });
  deepEqual([skips(kube), annotationsOf(kube)], [undefined, { [hold]: holder }]);
  await replaceMachine(kube.client, target);
  deepEqual([skips(kube), annotationsOf(kube)], ["true", {}]);
});

Deno.test("replaceMachine: keeps the hold when it is unknown whether the machine was deleted", async () => {
  const kube = kubeWith({});
  kube.onChange = ({ object: { metadata } }) => {
    if (!metadata.deletionTimestamp) return;
    kube.onRequest = () => Promise.reject(answer(503, "Unavailable"));
    throw answer(504, "Timeout");
  };
  await rejects(replaceMachine(kube.client, target), { type: "ApiUnavailable" });
  deepEqual(annotationsOf(kube), { [hold]: holder });
});

Deno.test("replaceMachine: a deletion that the API server carries out late has no effect once the machine is not held any more", async () => {
  const kube = kubeWith({});
  const { custom, ...clients } = kube.clients;
  const late: (() => Promise<unknown>)[] = [];
  const deleteNamespacedCustomObject = (request: never): Promise<never> => {
    late.push(() => custom.deleteNamespacedCustomObject(request));
    return Promise.reject(answer(504, "Timeout"));
  };
  const slow = openCluster({ ...clients, custom: { ...custom, deleteNamespacedCustomObject } as never });
  await rejects(replaceMachine(slow, target), { type: "ApiUnavailable" });
  deepEqual([annotationsOf(kube), late.length], [{}, 1]);
  await rejects(late[0]?.() ?? Promise.resolve(), { code: 409 });
});

Deno.test("replaceMachine: leaves no hold on a machine that it could not delete because the answer to the hold was lost", async () => {
  const kube = kubeWith({});
  let isLost = true;
  kube.onChange = () => {
    if (!isLost) return;
    isLost = false;
    throw answer(504, "Timeout");
  };
  await rejects(replaceMachine(kube.client, target), { type: "ApiUnavailable" });
  deepEqual([annotationsOf(kube), kube.writes], [{}, ["patch machines fleet/a", "patch machines fleet/a"]]);
});

Deno.test("replaceMachine: leaves eviction to machine-controller when the pods must be drained", async () => {
  const kube = kubeWith({});
  await replaceMachine(kube.client, { ...target, node: "node-a", drain: true });
  deepEqual(kube.writes, ["delete machines fleet/a"]);
});
