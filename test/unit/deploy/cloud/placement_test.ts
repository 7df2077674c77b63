import assert from "node:assert/strict";
import type { V1Node, V1Pod, V1PodSpec } from "@kubernetes/client-node";
import { kinOf, placePod } from "../../../../deploy/local/cloud/placement.ts";

function node(name: string, spec: V1Node["spec"] = {}, status = "True"): V1Node {
  return { metadata: { name, labels: { name } }, spec, status: { conditions: [{ type: "Ready", status }] } };
}

function pod(spec: Partial<V1PodSpec> = {}): V1Pod {
  return { spec: { containers: [], ...spec } };
}

const none = { podsOn: new Map<string, number>() };

Deno.test("placePod: chooses the node with the fewest pods, and among equal nodes the first by name", () => {
  const nodes = [node("c"), node("b"), node("a")];
  assert.equal(placePod(pod(), nodes, { podsOn: new Map([["a", 2], ["b", 1], ["c", 1]]) }), "b");
});

Deno.test("placePod: chooses the node with the fewest related pods, and among equal nodes the one with the fewest pods", () => {
  const nodes = [node("a"), node("b"), node("c")];
  const podsOn = new Map([["a", 1], ["b", 3], ["c", 2]]);
  assert.equal(placePod(pod(), nodes, { podsOn, kinOn: new Map([["a", 1]]) }), "c");
});

Deno.test("placePod: chooses no node for a pod with anti-affinity while every node has a related pod", () => {
  const alone = pod({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "a" } } },
        ],
      },
    },
  });
  const kin: V1Pod = { metadata: { labels: { app: "a" } } };
  assert.deepEqual(kinOf(alone, [kin, { metadata: { labels: { app: "b" } } }]), [kin]);
  const counts = { ...none, kinOn: new Map([["a", 1]]) };
  assert.equal(placePod(alone, [node("a")], counts), undefined);
  assert.equal(placePod(alone, [node("a"), node("b")], counts), "b");
});

Deno.test("kinOf: returns the pods that a pod's topology spread over nodes selects in its namespace, except pods that are being deleted", () => {
  const named = (name: string, metadata: V1Pod["metadata"] = {}): V1Pod => ({
    metadata: { namespace: "n", labels: { app: "a", name }, ...metadata },
  });
  const [kin, other] = [named("kin"), named("other", { labels: { app: "b" } })];
  const pods = [kin, other, named("stranger", { namespace: "m" }), named("leaving", { deletionTimestamp: new Date() })];
  const over = (topologyKey: string): V1Pod => ({
    ...named("one"),
    ...pod({
      topologySpreadConstraints: [
        { topologyKey, maxSkew: 1, whenUnsatisfiable: "ScheduleAnyway", labelSelector: { matchLabels: { app: "a" } } },
      ],
    }),
  });
  assert.deepEqual(kinOf(over("kubernetes.io/hostname"), pods), [kin]);
  assert.deepEqual(kinOf(over("topology.kubernetes.io/zone"), pods), []);
  assert.deepEqual(kinOf(pod(), pods), []);
});

Deno.test("placePod: skips cordoned nodes and nodes that are not Ready", () => {
  const nodes = [node("a", {}, "Unknown"), node("b", { unschedulable: true }), node("c")];
  assert.equal(placePod(pod(), nodes, none), "c");
  assert.equal(placePod(pod(), nodes.slice(0, 2), none), undefined);
});

Deno.test("placePod: respects taints unless tolerated, and ignores PreferNoSchedule", () => {
  const nodes = [node("a", { taints: [{ key: "k", value: "v", effect: "NoSchedule" }] })];
  assert.equal(placePod(pod(), nodes, none), undefined);
  assert.equal(placePod(pod({ tolerations: [{ key: "k", value: "other" }] }), nodes, none), undefined);
  assert.equal(placePod(pod({ tolerations: [{ key: "k", value: "v" }] }), nodes, none), "a");
  assert.equal(placePod(pod(), [node("a", { taints: [{ key: "k", effect: "PreferNoSchedule" }] })], none), "a");
});

Deno.test("placePod: chooses for a pod of a DaemonSet the node that its affinity names, even if cordoned", () => {
  const nodes = [node("a"), node("b", { unschedulable: true })];
  const term = { matchFields: [{ key: "metadata.name", operator: "In", values: ["b"] }] };
  const pinned = pod({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } },
    tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" }],
  });
  assert.equal(placePod(pinned, nodes, none), "b");
});

Deno.test("placePod: respects a node selector", () => {
  assert.equal(placePod(pod({ nodeSelector: { name: "b" } }), [node("a"), node("b")], none), "b");
});
