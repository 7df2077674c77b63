import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { awaitGates } from "../../../../activities/gates/await_gates.ts";
import type { Check, GateVerdict, Unseen } from "../../../../workflows/contracts/mod.ts";
import { answer } from "../../../support/fake_kube.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { node, pool } from "../../../support/machine_objects.ts";
import { ask, gate, kubeWithPool, later, readyPod } from "./gate_question.ts";

const nodeReady: Check = { kind: "NodeCondition", type: "Ready", status: "True" };
const podsReady: Check = { kind: "Pods", namespace: "apps", selector: "app=web", min: 1 };

Deno.test("awaitGates: waits until all gates pass in the same read", async () => {
  const kube = kubeWithPool();
  kube.put("nodes", node("node-a", { ready: false }));
  kube.put("pods", readyPod("web", { on: "node-a" }));
  let looks = 0;
  kube.onRequest = (request) => {
    if (request !== "get machines fleet/a") return;
    looks += 1;
    // The node recovers at the moment when the pod fails, and the pod recovers later.
    if (looks === 2) kube.put("nodes", node("node-a"));
    if (looks === 2) kube.put("pods", readyPod("web", { on: "node-a", ready: false }));
    if (looks === 3) kube.put("pods", readyPod("web", { on: "node-a" }));
  };
  const heartbeats: unknown[] = [];
  const gates = [gate(nodeReady, { name: "node" }), gate(podsReady, { name: "pods" })];
  const verdicts = await ask(kube, gates, { until: later(), heartbeats });
  deepEqual(verdicts.map(({ gate, outcome }) => [gate, outcome]), [["node", "Passed"], ["pods", "Passed"]]);
  equal(looks, 3);
  equal(heartbeats.length, 2);
  match(
    JSON.stringify(heartbeats[0]).replaceAll("\\", ""),
    /gate "node": 1 of 1 nodes have Ready=False \("node-a"\), wanted Ready=True/,
  );
});

Deno.test("awaitGates: at the deadline, fails a gate whose last measurement was false, and is Inconclusive for a gate without a measurement", async () => {
  const kube = kubeWithPool();
  kube.put("nodes", node("node-a", { ready: false }));
  const unreported: Check = { kind: "NodeCondition", type: "KernelDeadlock", status: "False" };
  const verdicts = await ask(kube, [gate(nodeReady, { name: "node" }), gate(unreported, { name: "kernel" })]);
  deepEqual(verdicts, [
    {
      gate: "node",
      outcome: "Failed",
      message: '1 of 1 nodes have Ready=False ("node-a"), wanted Ready=True',
    },
    {
      gate: "kernel",
      outcome: "Inconclusive",
      message: 'KernelDeadlock is unknown for node "node-a", wanted KernelDeadlock=False',
    },
  ]);
});

Deno.test("awaitGates: reports the last unmet condition when the API server denies later reads", async () => {
  const kube = kubeWithPool();
  kube.put("nodes", node("node-a", { ready: false }));
  const { now } = Date;
  const until = now() + 60_000;
  let looks = 0;
  kube.onRequest = (request) => {
    if (request !== "get nodes node-a" || looks++ === 0) return;
    // The deadline passes before the second read, however long the first one took.
    Date.now = () => now() + 60_000;
    throw answer(403, "Forbidden");
  };
  const [verdict] = await ask(kube, [gate(nodeReady)], { until }).finally(() => Date.now = now);
  equal(verdict?.outcome, "Failed");
  match(verdict?.message ?? "", /have Ready=False .*; since then Failed to evaluate gate "probe" of "pool": HTTP 403/);
});

Deno.test("awaitGates: returns Inconclusive when the API server denies access", async () => {
  const kube = kubeWithPool();
  kube.onRequest = () => {
    throw answer(403, "Forbidden");
  };
  const [verdict] = await ask(kube, [gate(nodeReady)]);
  equal(verdict?.outcome, "Inconclusive");
  match(verdict?.message ?? "", /HTTP 403, Forbidden/);
});

/**
 * Returns the result of a gate with a timeout of 600 s, when the API server is unavailable for 650 s from the second
 * read of the node on.
 */
async function afterOutage(isReady: boolean): Promise<GateVerdict[] | Unseen> {
  const kube = kubeWithPool();
  kube.put("nodes", node("node-a", { ready: false }));
  const { now } = Date;
  let [looks, awayMs] = [0, 0];
  kube.onRequest = (request) => {
    if (request === "get nodes node-a") looks += 1;
    if (looks < 2) return;
    Date.now = () => now() + awayMs;
    awayMs += 10_000;
    if (awayMs <= 650_000) throw answer(503, "ServiceUnavailable");
    kube.put("nodes", node("node-a", { ready: isReady }));
  };
  const patience = { machine: 1, wave: 1, metric: 1, grace: 0 };
  const gates = [gate(nodeReady, { within: 600_000 })];
  const question = { pool, gates, machine: "a", node: "node-a", key: "a/0", until: now() + 600_000 };
  return await inActivity(() => awaitGates(kube.client, question, { patience })).finally(() => Date.now = now);
}

Deno.test("awaitGates: returns the outage in place of a failure when the API server was unavailable beyond the deadline", async () => {
  const seen = await afterOutage(false);
  ok("unseenMs" in seen && seen.unseenMs >= 640_000, JSON.stringify(seen));
});

Deno.test("awaitGates: passes when all gates are true after the API server was unavailable beyond the deadline", async () => {
  const seen = await afterOutage(true);
  equal(Array.isArray(seen) && seen[0]?.outcome, "Passed");
});

Deno.test("awaitGates: returns when the timeout of one gate is over, with Inconclusive for each unmet gate whose timeout still runs", async () => {
  const kube = kubeWithPool();
  kube.put("nodes", node("node-a", { ready: false }));
  const gates = [gate(nodeReady, { name: "node", within: 0 }), gate(podsReady, { name: "pods" })];
  const verdicts = await ask(kube, gates, { until: later() });
  deepEqual(verdicts.map(({ outcome }) => outcome), ["Failed", "Inconclusive"]);
});

Deno.test("awaitGates: counts the timeout of a gate from its first evaluation", async () => {
  const kube = kubeWithPool();
  kube.put("nodes", node("node-a", { ready: false }));
  const gates = [gate(nodeReady, { name: "node" }), gate(podsReady, { name: "pods", within: 600_000 })];
  const verdicts = await ask(kube, gates, { since: Date.now() - 60_000, until: Date.now() + 500 });
  deepEqual(verdicts.map(({ outcome }) => outcome), ["Failed", "Inconclusive"]);
});

Deno.test("awaitGates: fails as MachineGone for a deleted machine, and as ObjectInvalid when the API server refuses the selector of a gate", async () => {
  const kube = kubeWithPool();
  kube.remove("machines", "a", "fleet");
  await rejects(ask(kube, [gate(nodeReady)], { until: later() }), { type: "MachineGone" });
  const refusing = kubeWithPool();
  refusing.onRequest = (request) => {
    if (request.startsWith("list pods")) throw answer(400, "BadRequest", "unable to parse requirement");
  };
  await rejects(ask(refusing, [gate(podsReady)], { until: later() }), { type: "ObjectInvalid" });
});
