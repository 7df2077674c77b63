/** K27, JN4: control planes join one at a time, and one has joined when its member of etcd votes. */
import type { Cluster } from "../../../../activities/cluster.ts";
import { deepEqual, equal } from "node:assert/strict";
import { useEtcd } from "../../../support/staged_cluster.ts";
import { refused } from "../../../../activities/failures.ts";
import { ensureNodeAnnotated } from "../../../../activities/node_version/joining_nodes.ts";
import { marks } from "../../../../activities/node_version/marks.ts";
import type { JoiningOutcome } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { StagedEtcd } from "../../../support/staged_etcd.ts";

const hourMs = 3_600_000;

interface Joining {
  kube: FakeKube;
  client: Cluster;
  etcd: StagedEtcd;
}

/** Returns a cluster in which node "cp-4" exists, and its JoiningNode is `ageMs` old. */
function joining({ ageMs = 0, deadline }: { ageMs?: number; deadline?: string } = {}): Joining {
  const kube = new FakeKube();
  const etcd = new StagedEtcd();
  const { client } = kube; // `kube.client` makes a new client at each access
  useEtcd(client, () => etcd);
  etcd.join("m1", "192.0.2.1", { name: "cp-1" });
  const labels = { "node-role.kubernetes.io/control-plane": "" };
  const first = { addresses: [{ type: "InternalIP", address: "192.0.2.1" }] };
  kube.put("nodes", { metadata: { name: "cp-1", labels }, spec: {}, status: first });
  record(kube, "control-plane", "cp-4", { ageMs, ...(deadline ? { deadline } : {}) });
  const status = {
    addresses: [{ type: "InternalIP", address: "192.0.2.4" }],
    conditions: [{ type: "Ready", status: "True" }],
  };
  kube.put("nodes", { metadata: { name: "cp-4" }, spec: {}, status });
  return { kube, client, etcd };
}

function record(
  kube: FakeKube,
  name: string,
  of: string,
  { ageMs = 0, deadline }: { ageMs?: number; deadline?: string } = {},
): void {
  const creationTimestamp = new Date(Date.now() - ageMs).toISOString();
  const spec = { name: of, componentsreference: "k8s-components-2", iscontrolplane: true };
  const metadata = { name, uid: `uid-of-${name}`, creationTimestamp };
  kube.put("joiningnodes", { metadata, spec: { ...spec, ...(deadline ? { deadline } : {}) } });
}

function admitted({ client }: Joining): Promise<JoiningOutcome> {
  return inActivity(() => ensureNodeAnnotated(client, { object: { name: "control-plane" } }));
}

function isAnnotated({ kube }: Joining): boolean {
  return kube.get("nodes", "cp-4")?.metadata.annotations?.[marks.components] === "k8s-components-2";
}

function saysOf(outcome: JoiningOutcome): string {
  return "says" in outcome ? outcome.says.replace(/until \S+ /, "") : outcome.outcome;
}

Deno.test("K27 control planes: annotates the node immediately, and keeps its JoiningNode until its etcd member is a voter", async () => {
  const all = joining();
  const first = await admitted(all);
  deepEqual([saysOf(first), isAnnotated(all)], ['Waiting for node "cp-4": the node is not a member of etcd yet', true]);
  equal("againMs" in first && first.againMs, 5_000);
  all.etcd.join("m4", "192.0.2.4", { isLearner: true });
  equal(saysOf(await admitted(all)), 'Waiting for node "cp-4": its etcd member is not a voter yet');
  await all.etcd.promoteLearner("m4");
  equal((await admitted(all)).outcome, "Annotated");
  equal(all.kube.get("joiningnodes", "control-plane"), undefined);
});

Deno.test("JN4 control planes: a control plane waits until the one with the older JoiningNode has joined", async () => {
  const all = joining();
  record(all.kube, "cp-3", "cp-3", { ageMs: 1_000 });
  const seen = await admitted(all);
  equal(saysOf(seen), 'Waiting for control plane "cp-3" to join: its JoiningNode "cp-3" is older');
  equal(isAnnotated(all), false);
});

Deno.test("JN4 control planes: a JoiningNode that has expired, or that is older than an hour, delays no other control plane", async () => {
  const all = joining();
  all.etcd.join("m4", "192.0.2.4");
  record(all.kube, "late", "cp-2", { ageMs: 60_000, deadline: new Date(Date.now() - 1).toISOString() });
  record(all.kube, "eternal", "cp-3", { ageMs: 2 * hourMs, deadline: new Date(Date.now() + hourMs).toISOString() });
  equal((await admitted(all)).outcome, "Annotated");
});

Deno.test("control planes: deletes the JoiningNode after its deadline, even if the etcd member never became a voter", async () => {
  const all = joining({ ageMs: 1_000, deadline: new Date(Date.now() - 1).toISOString() });
  equal((await admitted(all)).outcome, "Annotated");
  equal(all.kube.get("joiningnodes", "control-plane"), undefined);
});

Deno.test("control planes: treats a node as joined when its kubelet is Ready, if Ostler has no access to etcd", async () => {
  const all = joining();
  all.etcd.fault = refused("EtcdAccessMissing", "Failed to reach etcd: the Secret does not exist");
  equal((await admitted(all)).outcome, "Annotated");
});
