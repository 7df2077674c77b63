import { deepEqual, equal, match } from "node:assert/strict";
import { awaitGates } from "../../../../activities/gates/await_gates.ts";
import type { Check, GateVerdict } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { machine, node, pool } from "../../../support/machine_objects.ts";
import { ask, askWave, gate, kubeWithPool, readyPod } from "./gate_question.ts";

const nodeReady: Check = { kind: "NodeCondition", type: "Ready", status: "True" };
const webReady: Check = { kind: "Pods", namespace: "apps", selector: "app=web", min: 1 };
const daemons: Check = { kind: "DaemonSets", namespace: null, selector: "tier=node" };

/** A DaemonSet and the labels of its pods. */
function daemonSet(name: string, spec: Record<string, unknown> = {}): Parameters<FakeKube["put"]>[1] {
  return {
    metadata: { namespace: "apps", name, labels: { tier: "node" } },
    spec: { selector: { matchLabels: { app: name } }, template: { spec } },
  };
}

async function outcome(verdicts: Promise<{ outcome: string; message: string }[]>): Promise<string> {
  const [verdict] = await verdicts;
  return `${verdict?.outcome} ${verdict?.message}`;
}

Deno.test("lookAtNodeCondition: checks the machine's own node for a machine, and the nodes of all updated machines for a wave", async () => {
  const kube = kubeWithPool();
  kube.put("machines", machine("leaving", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }));
  for (const ill of ["node-old", "node-leaving"]) kube.put("nodes", node(ill, { ready: false }));
  match(await outcome(askWave(kube, [gate(nodeReady)])), /^Passed Ready=True on 2 of 2 nodes/);
  kube.put("nodes", node("node-b", { ready: false }));
  match(await outcome(ask(kube, [gate(nodeReady)])), /^Passed .*on 1 of 1 nodes/);
  match(await outcome(askWave(kube, [gate(nodeReady)])), /^Failed .*1 of 2 nodes have Ready=False \("node-b"\)/);
});

Deno.test("lookAtNodeCondition: is Inconclusive for a node with Ready=Unknown, and for a missing node", async () => {
  const kube = kubeWithPool();
  const conditions = [{ type: "Ready", status: "Unknown" }];
  kube.put("nodes", { metadata: { name: "node-a" }, status: { conditions } });
  match(await outcome(ask(kube, [gate(nodeReady)])), /^Inconclusive Ready is unknown for node "node-a"/);
  kube.remove("nodes", "node-a");
  match(await outcome(askWave(kube, [gate(nodeReady)])), /^Inconclusive .*unknown for node "node-a"/);
});

Deno.test("lookAtNodeCondition: reads the nodes of a large wave in one list", async () => {
  const kube = kubeWithPool();
  for (let index = 0; index < 30; index += 1) {
    kube.put("machines", machine(`m${index}`));
    kube.put("nodes", node(`node-m${index}`));
  }
  const requests: string[] = [];
  kube.onRequest = (request) => void requests.push(request);
  match(await outcome(askWave(kube, [gate(nodeReady)])), /^Passed .*on 32 of 32 nodes/);
  deepEqual(requests.filter((request) => request.includes(" nodes ")), ["list nodes "]);
});

Deno.test("fault E14 awaitGates: the gates of several waves share one list of nodes", async () => {
  const kube = kubeWithPool();
  for (let index = 0; index < 30; index += 1) {
    kube.put("machines", machine(`m${index}`));
    kube.put("nodes", node(`node-m${index}`));
  }
  const requests: string[] = [];
  kube.onRequest = (request) => void requests.push(request);
  const { client } = kube;
  const question = { pool, gates: [gate(nodeReady)], until: Date.now() + 10_000 };
  for (const key of ["wave/1", "wave/2"]) {
    const [verdict] = await inActivity(() => awaitGates(client, { ...question, key })) as GateVerdict[];
    deepEqual(verdict?.outcome, "Passed");
  }
  deepEqual(requests.filter((request) => request.includes(" nodes ")), ["list nodes "]);
});

Deno.test("lookAtPods: requires all selected pods to be Ready: for a machine those on its node, for a wave those on every node", async () => {
  const kube = kubeWithPool();
  kube.put("pods", readyPod("one", { on: "node-a" }));
  kube.put("pods", readyPod("two", { on: "node-b", ready: false }));
  match(await outcome(ask(kube, [gate(webReady)])), /^Passed .*1 of 1 pods "app=web" are Ready on node "node-a"/);
  match(
    await outcome(askWave(kube, [gate(webReady)])),
    /^Failed .*1 of 2 .* are Ready, wanted all; not Ready: "apps\/two"/,
  );
});

Deno.test("lookAtPods: requires a minimum, and excludes finished and terminating pods", async () => {
  const kube = kubeWithPool();
  match(await outcome(ask(kube, [gate(webReady)])), /^Failed .*0 of 0 pods .*, wanted at least 1/);
  kube.put("pods", readyPod("one", { on: "node-a" }));
  kube.put("pods", {
    ...readyPod("left", { on: "node-b", metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["f"] } }),
  });
  kube.put("pods", { ...readyPod("done", { on: "node-b" }), status: { phase: "Failed" } });
  match(await outcome(askWave(kube, [gate({ ...webReady, min: 2 })])), /^Failed .*1 of 1 pods .* at least 2/);
  match(await outcome(askWave(kube, [gate(webReady)])), /^Passed/);
});

Deno.test("lookAtDaemonSets: requires a Ready pod of each DaemonSet whose node selector matches the node", async () => {
  const kube = kubeWithPool();
  kube.put("daemonsets", daemonSet("cni"));
  kube.put("daemonsets", daemonSet("gpu", { nodeSelector: { gpu: "yes" } }));
  const waiting = await outcome(ask(kube, [gate(daemons)]));
  match(waiting, /^Failed .*1 of 1 daemon pods are not Ready: DaemonSet "apps\/cni" on node "node-a"$/);
  kube.put("pods", readyPod("cni-a", { on: "node-a", owner: "cni" }));
  kube.put("pods", readyPod("cni-b", { on: "node-b", owner: "cni", ready: false }));
  match(await outcome(ask(kube, [gate(daemons)])), /^Passed .*1 of 1 daemon pods are Ready/);
  match(await outcome(askWave(kube, [gate(daemons)])), /^Failed .*1 of 2 .*"apps\/cni" on node "node-b"$/);
});

Deno.test("lookAtDaemonSets: is inconclusive for a selector that matches nothing", async () => {
  const verdict = await outcome(ask(kubeWithPool(), [gate({ ...daemons, namespace: "apps" })]));
  equal(verdict, 'Inconclusive no DaemonSet has the labels "tier=node" in namespace "apps"');
});
