import { deepEqual, equal, match, ok } from "node:assert/strict";
import { stateOf } from "../../../../activities/backends/machine_controller/observe_pool.ts";
import { Machine } from "../../../../activities/kube/resources.ts";
import { awaitMachinesJoined, rungOf } from "../../../../activities/pool/await_joined.ts";
import type { NodeFacts } from "../../../../activities/node/node_facts.ts";
import type { JoinDeadlines, JoinVerdict } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { machine, node, pool } from "../../../support/machine_objects.ts";
import type { MachineOverrides } from "../../../support/machine_objects.ts";

const ready: NodeFacts = {
  ...{ name: "node-a", ready: true, reachable: true, readyReason: "KubeletReady", readyMessage: "" },
  ...{ kubelet: "v1.35.3", since: 0, conditions: [], initialising: [] },
};
const addresses = [{ address: "10.0.0.1" }];
const nodeRef = { name: "node-a" };

function wanting(kubelet: string): { kubelet: string; unseen: (node: string) => string } {
  return { kubelet, unseen: (node) => `node "${node}" is not reported Ready` };
}

const climbs: [string, MachineOverrides, NodeFacts | undefined, string][] = [
  ["without an instance", { finalizers: [], status: {} }, undefined, "instance"],
  ["with an error of its provider", { status: { errorReason: "CreateError", addresses } }, undefined, "instance"],
  ["without an address", { status: {} }, undefined, "address"],
  ["without a node", { status: { addresses } }, undefined, "registered"],
  ["whose node is gone", { status: { addresses, nodeRef } }, undefined, "registered"],
  ["whose node is not Ready", { status: { addresses, nodeRef } }, { ...ready, ready: false }, "ready"],
  ["whose node takes no pods yet", {}, { ...ready, initialising: ["node.kubernetes.io/not-ready"] }, "ready"],
  ["that machine-controller has not seen Ready", { status: { addresses, nodeRef } }, ready, "ready"],
  ["whose kubelet version is not the desired one", {}, { ...ready, kubelet: "v1.36.1" }, "gates"],
];

for (const [what, overrides, facts, rung] of climbs) {
  Deno.test(`rungOf: returns join stage "${rung}" for a machine ${what}`, () => {
    const climb = rungOf(stateOf(Machine.parse(machine("a", overrides))), facts, wanting("1.35.3"));
    equal("rung" in climb && climb.rung, rung);
  });
}

for (const [wanted, reported] of [["1.35.3", "v1.35.3"], ["v1.35.3", "1.35.3"], ["1.35", "v1.35.9"]] as const) {
  Deno.test(`rungOf: accepts kubelet "${reported}" for the desired "${wanted}"`, () => {
    const climb = rungOf(stateOf(Machine.parse(machine("a"))), { ...ready, kubelet: reported }, wanting(wanted));
    deepEqual("joined" in climb && climb.joined, {
      readyAt: 0,
      ...{ machine: "a", node: "node-a", image: "docker://example/ubuntu:1", kubelet: reported },
    });
  });
}

function deadlines(atMs: number): JoinDeadlines {
  const at = Date.now() + atMs;
  return { instance: at, address: at, registered: at, ready: at };
}

function climb(
  kube: FakeKube,
  machines: Record<string, JoinDeadlines>,
  heartbeats: unknown[] = [],
): Promise<JoinVerdict> {
  const question = {
    ...{ pool, kubelet: "1.35.3" },
    machines: Object.entries(machines).map(([name, each]) => ({ machine: name, deadlines: each })),
  };
  return inActivity(() => awaitMachinesJoined(kube.client, question), { heartbeats }).then((verdict) => {
    ok("joined" in verdict);
    return verdict;
  });
}

Deno.test("awaitMachinesJoined: ends when all machines have joined, and until then reports the missing machines in heartbeats", async () => {
  const kube = new FakeKube();
  kube.put("machines", machine("a"));
  kube.put("nodes", node("node-a"));
  kube.put("machines", machine("b", { status: {} }));
  kube.put("nodes", node("node-b"));
  const heartbeats: unknown[] = [];
  let looks = 0;
  kube.onRequest = (request) => {
    if (request === "get machines fleet/b" && looks++ === 1) kube.put("machines", machine("b"));
  };
  const verdict = await climb(kube, { a: deadlines(10_000), b: deadlines(10_000) }, heartbeats);
  deepEqual(verdict.joined.map(({ machine: name, node: on }) => [name, on]), [["a", "node-a"], ["b", "node-b"]]);
  deepEqual([verdict.failed, verdict.gone], [[], []]);
  deepEqual(heartbeats.map((each) => (each as { waitsFor: string }).waitsFor), [
    "1 of 2 joined; b: the instance has no address",
  ]);
});

Deno.test("awaitMachinesJoined: does not count a deleted machine as joined while it waits for others", async () => {
  const kube = new FakeKube();
  kube.put("machines", machine("a", { status: {} }));
  kube.put("nodes", node("node-a"));
  const heartbeats: unknown[] = [];
  let looks = 0;
  kube.onRequest = (request) => {
    if (request === "get machines fleet/a" && looks++ === 1) kube.put("machines", machine("a"));
  };
  const verdict = await climb(kube, { a: deadlines(10_000), b: deadlines(10_000) }, heartbeats);
  deepEqual([verdict.joined.length, verdict.gone], [1, ["b"]]);
  deepEqual(heartbeats.map((each) => (each as { waitsFor: string }).waitsFor), [
    "0 of 2 joined, 1 deleted; a: the instance has no address",
  ]);
});

Deno.test("awaitMachinesJoined: reports late machines by their join stage, with the last event as evidence", async () => {
  const kube = new FakeKube();
  kube.put("machines", machine("a", { status: {} }));
  const event = { involvedObject: { kind: "Machine", name: "a" }, reason: "ReconcilingError", message: "no quota" };
  kube.put("events", { metadata: { namespace: "fleet", name: "e1" }, ...event, lastTimestamp: "2026-01-01T00:00:00Z" });
  const { failed } = await climb(kube, { a: { ...deadlines(60_000), address: Date.now() + 100 } });
  deepEqual(failed.map(({ machine: name, rung }) => [name, rung]), [["a", "address"]]);
  match(failed[0]?.evidence ?? "", /^the instance has no address; last event: ReconcilingError: no quota$/);
});

Deno.test("awaitMachinesJoined: reports a machine at once that is deleted or being deleted", async () => {
  const kube = new FakeKube();
  kube.put("machines", machine("b", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }));
  const verdict = await climb(kube, { a: deadlines(60_000), b: deadlines(60_000) });
  deepEqual(verdict, { joined: [], failed: [], gone: ["a", "b"] });
});

Deno.test("awaitMachinesJoined: reports the join stage that a machine waited for before it was deleted, with its last event", async () => {
  const kube = new FakeKube();
  kube.put("machines", machine("a", { status: { addresses } }));
  const event = { involvedObject: { kind: "Machine", name: "a" }, reason: "Created", message: "instance i-1" };
  kube.put("events", { metadata: { namespace: "fleet", name: "e1" }, ...event, lastTimestamp: "2026-01-01T00:00:00Z" });
  let looks = 0;
  kube.onRequest = (request) => {
    if (request === "get machines fleet/a" && looks++ === 1) kube.remove("machines", "a", "fleet");
  };
  const verdict = await climb(kube, { a: deadlines(60_000) });
  const evidence = "no node registered; last event: Created: instance i-1; no certificate was requested";
  const lastSeen = [{ machine: "a", rung: "registered", evidence: `${evidence} for this node name` }];
  deepEqual(verdict, { joined: [], failed: [], gone: ["a"], lastSeen });
});

Deno.test("awaitMachinesJoined: reports no late machine at the first read after an API outage", async () => {
  const kube = new FakeKube();
  kube.put("machines", machine("a", { finalizers: [], status: {} }));
  kube.put("nodes", node("node-a"));
  let looks = 0;
  kube.onRequest = (request) => {
    if (request === "get machines fleet/a" && looks++ === 1) kube.put("machines", machine("a"));
  };
  // The first join stage of machine "a" was due during the outage; its last stage is due much later.
  const verdict = await climb(kube, { a: { ...deadlines(60_000), instance: Date.now() - 1000 } });
  deepEqual(verdict.joined.map(({ machine: name }) => name), ["a"]);
});

Deno.test("awaitMachinesJoined: explains typical causes, and names a command, when a failed machine sent no boot report", async () => {
  const kube = new FakeKube();
  kube.put("machines", machine("a", { status: { addresses } }));
  const { failed } = await climb(kube, { a: deadlines(100) });
  match(
    failed[0]?.evidence ?? "",
    /; the machine sent no boot report: .*or has an expired token; run "journalctl -u bootstrap -u setup" on 10\.0\.0\.1$/,
  );
});

Deno.test("awaitMachinesJoined: adds the last boot report of a failed machine", async () => {
  const kube = new FakeKube();
  kube.put("machines", machine("a", { status: { addresses: [{ address: "host-a.example" }] } }));
  const report = { phase: "setup", step: "install packages", state: "Failed", message: "no route to the mirror" };
  const data = { "host-a.example": JSON.stringify(report), b: JSON.stringify({ ...report, message: "of another" }) };
  kube.put("configmaps", { metadata: { namespace: "cloud-init-settings", name: "ostler-boot-pool-fleet" }, data });
  const { failed } = await climb(kube, { a: deadlines(100) });
  equal(
    failed[0]?.evidence,
    "no node registered; no certificate was requested for this node name; " +
      'last boot report of the machine: setup step "install packages" failed: no route to the mirror',
  );
});

Deno.test("awaitMachinesJoined: after an API outage, treats no machine as late, and reports machines that joined during the outage", async () => {
  const kube = new FakeKube();
  kube.put("machines", machine("a", { status: {} }));
  const heartbeatDetails = { waitsFor: "0 of 1 joined", lookedAt: Date.now() - 3_600_000 };
  const late = { pool, kubelet: "1.35.3", machines: [{ machine: "a", deadlines: deadlines(-1_800_000) }] };
  const look = (): ReturnType<typeof awaitMachinesJoined> =>
    inActivity(() => awaitMachinesJoined(kube.client, late), { heartbeatDetails });
  const unseen = await look();
  ok("unseenMs" in unseen && unseen.unseenMs >= 3_600_000 && unseen.unseenMs < 3_700_000);
  kube.put("machines", machine("a"));
  kube.put("nodes", node("node-a"));
  const seen = await look();
  ok("joined" in seen);
  deepEqual(seen.joined.map((each) => each.machine), ["a"]);
});
