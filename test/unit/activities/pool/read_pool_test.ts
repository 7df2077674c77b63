import { deepEqual, equal, match, notEqual, rejects } from "node:assert/strict";
import { poolWatchesOf } from "../../../../activities/backends/machine_controller/pool_watch.ts";
import { beginToWatch } from "../../../../activities/backends/registry.ts";
import { awaitPoolChanged, readMembers, readPool } from "../../../../activities/pool/read_pool.ts";
import type { PoolQuestion } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { eventually } from "../../../support/eventually.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { FakeStreams } from "../../../support/fake_streams.ts";
import { hold, holder, machine, machineDeployment, node, pool, putPool } from "../../../support/machine_objects.ts";

const minute = 60_000;
const repair = { enabled: true, notReadyFor: 10 * minute, conditions: [], maxUnhealthy: 40 };
const question: PoolQuestion = { pool, templateHash: "hash-1", unproven: [], repair, limit: 20 };

function kubeWith(...names: string[]): FakeKube {
  const kube = new FakeKube();
  putPool(kube);
  for (const name of names) {
    kube.put("machines", machine(name));
    kube.put("nodes", node(`node-${name}`));
  }
  return kube;
}

Deno.test("readPool: counts a machine as Ready only while its node is", async () => {
  const kube = kubeWith("a", "b", "c");
  kube.put("nodes", node("node-b", { ready: false }));
  kube.remove("nodes", "node-c");
  const { counts } = await readPool(kube.client, question);
  deepEqual([counts.machines, counts.ready, counts.updatedReady], [3, 1, 1]);
});

Deno.test("readPool: returns why and since when a joined machine is unhealthy, and when its repair is due", async () => {
  const kube = kubeWith("a", "b");
  const since = Date.now() - minute;
  kube.put("nodes", node("node-b", { heard: false, since: new Date(since).toISOString() }));
  const { ill } = await readPool(kube.client, question);
  deepEqual(ill.map(({ id, phase, ill: what }) => [id, phase, what]), [
    ["b", "NotReady", { why: 'node "node-b" is not Ready (NodeStatusUnknown)', since, due: since + 10 * minute }],
  ]);
});

Deno.test("readPool: makes no machine due for repair at the first read, however long its node was not Ready", async () => {
  const kube = kubeWith("a");
  kube.put("nodes", node("node-a", { ready: false, since: "2026-01-01T00:00:00Z" }));
  const now = Date.now();
  const { ill } = await readPool(kube.client, question);
  equal((ill[0]?.ill?.due ?? 0) >= now + 30_000, true);
});

const notReady = "node.kubernetes.io/not-ready";

/** Returns a pool whose new machine "b" has a Ready node since the given time, with a taint that keeps pods off. */
function kubeWithTaint(since: number): FakeKube {
  const kube = kubeWith("a", "b");
  const spec = { taints: [{ key: notReady, effect: "NoSchedule" }] };
  kube.put("nodes", { ...node("node-b", { since: new Date(since).toISOString() }), spec });
  return kube;
}

Deno.test("fault U7 readPool: reports the taint that still keeps pods off a Ready node after 30 s", async () => {
  const unproven = ["b"];
  const { lacking } = await readPool(kubeWithTaint(Date.now() - minute).client, { ...question, unproven });
  const lacks = `node "node-b" is Ready, but taint "${notReady}" keeps pods off it`;
  deepEqual(lacking, [{ machine: "b", lacks }]);
  const early = await readPool(kubeWithTaint(Date.now() - 10_000).client, { ...question, unproven });
  const proven = await readPool(kubeWithTaint(Date.now() - minute).client, question);
  deepEqual([early.lacking, proven.lacking], [undefined, undefined]);
  notEqual(early.fingerprint, (await readPool(kubeWithTaint(0).client, { ...question, unproven })).fingerprint);
});

Deno.test("fault U7 awaitPoolChanged: ends when a taint has kept pods off a Ready node for 30 s", async () => {
  const client = kubeWithTaint(Date.now() - 29_500).client;
  const asked = { ...question, unproven: ["b"] };
  const { fingerprint } = await readPool(client, asked);
  equal(await inActivity(() => awaitPoolChanged(client, { ...asked, fingerprint, until: Date.now() + 60_000 })), true);
});

Deno.test("fault U7 readMembers: reports what each machine without a Ready node is waiting for", async () => {
  const kube = kubeWith("a");
  const since = new Date(Date.now() - minute).toISOString();
  const nodeRef = (name: string): { nodeRef: { name: string } } => ({ nodeRef: { name } });
  kube.put("machines", machine("boots", { status: {} }));
  kube.put(
    "machines",
    machine("broken", { finalizers: [], status: { errorReason: "CreateError", errorMessage: "quota" } }),
  );
  kube.put("machines", machine("unready", { status: nodeRef("node-unready") }));
  kube.put("nodes", node("node-unready", { ready: false, since }));
  kube.put("machines", machine("unseen", { status: nodeRef("node-unseen") }));
  kube.put("nodes", node("node-unseen", { since }));
  kube.put("machines", machine("goes", { metadata: { deletionTimestamp: since } }));
  const members = await readMembers(kube.client, pool);
  deepEqual(Object.fromEntries(members.map(({ id, lacks }) => [id, lacks])), {
    a: undefined,
    boots: "no node has registered",
    broken: "CreateError: quota",
    unready: 'node "node-unready" is not Ready (KubeletSays): reported by the kubelet',
    unseen: 'machine-controller has not reported node "node-unseen" Ready',
    goes: "finalizers remain: machine-delete-finalizer",
  });
});

Deno.test("readMembers: marks a machine that is being deleted as lost when its node was not Ready, or missing, for the time in the policy", async () => {
  const kube = kubeWith("a", "b", "c");
  const now = new Date().toISOString();
  kube.remove("nodes", "node-c");
  for (const id of ["a", "b", "c"]) kube.put("machines", machine(id, { metadata: { deletionTimestamp: now } }));
  kube.put("nodes", node("node-a", { ready: false, since: "2026-01-01T00:00:00Z" }));
  kube.put("nodes", node("node-b", { ready: false, since: now }));
  const members = await readMembers(kube.client, pool, { ...question.repair, enabled: false });
  deepEqual(members.map(({ id, lost }) => [id, lost]), [["a", true], ["b", undefined], ["c", undefined]]);
  const later = await readMembers(kube.client, pool, { ...question.repair, notReadyFor: 0 });
  deepEqual(later.map(({ lost }) => lost), [true, true, true]);
});

Deno.test("readPool: remembers when it first found that a node was deleted", async () => {
  const kube = kubeWith("a");
  kube.remove("nodes", "node-a");
  const { client } = kube;
  const first = await readPool(client, question);
  await eventually("the clock to advance", () => Date.now() > (first.ill[0]?.ill?.since ?? Infinity));
  const second = await readPool(client, question);
  equal(first.ill[0]?.ill?.why, 'node "node-a" was deleted');
  equal(second.ill[0]?.ill?.since, first.ill[0]?.ill?.since);
});

Deno.test("readPool: treats a machine as unhealthy when machine-controller has removed its node reference", async () => {
  const kube = kubeWith("a");
  kube.put("machines", machine("a", { status: { conditions: [{ type: "Ready", status: "True" }] } }));
  const { counts, ill } = await readPool(kube.client, question);
  deepEqual([counts.ill, counts.ready, ill[0]?.phase, ill[0]?.ill?.why], [1, 0, "NotReady", "its node was deleted"]);
});

Deno.test("readPool: treats no machine as unhealthy that never joined", async () => {
  const kube = kubeWith("a");
  kube.put("machines", machine("a", { status: { nodeRef: { name: "node-a" } } }));
  kube.put("nodes", node("node-a", { ready: false }));
  const { counts, joining } = await readPool(kube.client, question);
  deepEqual([counts.ill, joining.map(({ id }) => id)], [0, ["a"]]);
});

Deno.test("readMembers: returns the zone of each node, also of those that join or leave", async () => {
  const kube = kubeWith("a", "b", "c");
  for (const name of ["a", "b", "c"]) kube.put("nodes", node(`node-${name}`, { zone: `zone-${name}` }));
  kube.put("machines", machine("b", { status: { nodeRef: { name: "node-b" } } }));
  kube.put("machines", machine("c", { metadata: { deletionTimestamp: "2026-01-02T00:00:00Z" } }));
  const members = await readMembers(kube.client, pool);
  deepEqual(members.map(({ phase, zone }) => [phase, zone]), [
    ...[["Ready", "zone-a"], ["Joining", "zone-b"], ["Leaving", "zone-c"]],
  ]);
});

Deno.test("readMembers: makes no machine due for repair when no repair rules are given", async () => {
  const kube = kubeWith("a");
  kube.put("nodes", node("node-a", { ready: false }));
  equal((await readMembers(kube.client, pool))[0]?.ill?.due, Number.MAX_SAFE_INTEGER);
});

Deno.test("readPool: excludes machines of other pools", async () => {
  const kube = kubeWith("a");
  kube.put("machines", machine("x", { labels: { pool: "other" } }));
  equal((await readPool(kube.client, question)).counts.machines, 1);
});

Deno.test("readPool: fails as GenerationStale for a deleted MachineDeployment", async () => {
  await rejects(readPool(new FakeKube().client, question), { type: "GenerationStale" });
});

Deno.test("readPool: refuses a MachineDeployment whose selector matches every machine", async () => {
  const kube = new FakeKube();
  kube.put("machinedeployments", machineDeployment({ spec: { selector: {} } }));
  await rejects(readPool(kube.client, question), { type: "ObjectInvalid", nonRetryable: true });
});

Deno.test("awaitPoolChanged: ends when a machine changes", async () => {
  const kube = kubeWith("a");
  const { fingerprint } = await readPool(kube.client, question);
  const heartbeats: unknown[] = [];
  let looks = 0;
  kube.onRequest = (request) => {
    const isSecond = request.startsWith("list machines") && looks++ === 1;
    if (isSecond) kube.put("machines", machine("a", { annotations: { [hold]: holder } }));
  };
  const wait = { ...question, fingerprint, until: Number.MAX_SAFE_INTEGER };
  equal(await inActivity(() => awaitPoolChanged(kube.client, wait), { heartbeats }), true);
  notEqual((await readPool(kube.client, question)).fingerprint, fingerprint);
  deepEqual(heartbeats, ["1 machine: 1 updated and ready, 0 old, 0 being deleted, 0 unhealthy"]);
});

Deno.test("awaitPoolChanged: ends at its deadline when nothing changed", async () => {
  const kube = kubeWith("a");
  const { fingerprint } = await readPool(kube.client, question);
  const wait = { ...question, fingerprint, until: Date.now() };
  equal(await inActivity(() => awaitPoolChanged(kube.client, wait)), false);
});

Deno.test("awaitPoolChanged: fails while the API server is unreachable, and treats no machine as unhealthy", async () => {
  const kube = kubeWith("a");
  const unreachable = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  kube.onRequest = (request) => {
    if (request.startsWith("get nodes")) throw unreachable;
  };
  const wait = { ...question, fingerprint: "", until: Date.now() };
  await rejects(inActivity(() => awaitPoolChanged(kube.client, wait)), (error: Error & { type?: string }) => {
    equal(error.type, "ApiUnavailable");
    match(error.message, /^Failed to read the machines of "fleet\/pool": connect ECONNREFUSED$/);
    return true;
  });
});

/**
 * Returns a pool that is scaled to zero, with up-to-date watches as in a worker; `streams.requests` has only the
 * requests that are sent afterwards.
 */
async function emptied(): Promise<{ kube: FakeKube; streams: FakeStreams }> {
  const kube = new FakeKube();
  putPool(kube, { spec: { replicas: 0 } });
  for (const set of kube.all("machinesets")) kube.put("machinesets", { ...set, spec: { replicas: 0 } });
  const streams = new FakeStreams(kube);
  beginToWatch(streams.client);
  const { sets, deployments } = poolWatchesOf(streams.client);
  await eventually("the watches", () => sets.isFresh && deployments.isFresh);
  streams.requests.length = 0;
  return { kube, streams };
}

Deno.test("readPool: sends one request, which lists machines, when the watches show that all MachineSets of the pool are empty", async () => {
  const { streams } = await emptied();
  equal((await readPool(streams.client, question)).counts.machines, 0);
  deepEqual(streams.requests, ["list machines fleet/"]);
});

Deno.test("readPool: includes a machine that is being deleted, and a machine that the watches have not shown yet", async () => {
  const { kube, streams } = await emptied();
  kube.put("machines", machine("m-1", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }));
  equal((await readPool(streams.client, question)).counts.leaving, 1);
  kube.remove("machines", "m-1", "fleet");
  kube.put("machines", machine("m-2"));
  equal((await readPool(streams.client, question)).counts.machines, 1);
});

Deno.test("readPool: does not trust a watch that is out of date", async () => {
  const { kube, streams } = await emptied();
  streams.isDown = true;
  for (const kind of ["machinesets", "machinedeployments"]) streams.end(kind, timeout());
  kube.remove("machinedeployments", "pool", "fleet");
  await rejects(readPool(streams.client, question), { type: "GenerationStale" });
});

/** The error with which a silent stream ends. */
function timeout(): Error {
  return new DOMException("quiet", "TimeoutError");
}
