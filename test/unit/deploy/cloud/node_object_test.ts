import assert from "node:assert/strict";
import { nodeConditions, type NodeFacts, nodeObject } from "../../../../deploy/local/cloud/boot/node_object.ts";

const earlier = new Date("2026-01-01T00:00:00Z");
const now = new Date("2026-01-01T00:01:00Z");

const facts: NodeFacts = {
  name: "w-1",
  providerId: "kubevirt://w-1",
  address: "10.100.0.1",
  kubelet: "v1.36.1",
  image: "docker://img:1",
  cpu: "1",
  memory: "1Gi",
  zone: undefined,
  taints: [],
};

Deno.test("nodeObject: labels the zone only in a cloud with zones", () => {
  const zone = "topology.kubernetes.io/zone";
  assert.equal(nodeObject({ ...facts, zone: "b" }).metadata?.labels?.[zone], "b");
  assert.equal(zone in (nodeObject(facts).metadata?.labels ?? {}), false);
});

Deno.test("nodeObject: returns a Node that is not Ready and that machine-controller can match", () => {
  const node = nodeObject(facts);
  assert.ok(Object.keys(node.metadata?.labels ?? {}).length > 0);
  assert.ok(Object.keys(node.metadata?.annotations ?? {}).length > 0);
  assert.equal(node.spec?.providerID, "kubevirt://w-1");
  assert.deepEqual(node.status?.addresses?.[0], { type: "InternalIP", address: "10.100.0.1" });
  assert.equal(node.status?.nodeInfo?.osImage, "docker://img:1");
  assert.equal(node.status?.conditions?.find(({ type }) => type === "Ready")?.status, "False");
});

Deno.test("nodeConditions: sets the transition time when the node becomes Ready, and keeps it while the node stays Ready", () => {
  const notReady = nodeConditions(false, [], earlier);
  const ready = nodeConditions(true, notReady, now);
  const later = nodeConditions(true, ready, new Date("2026-01-01T00:02:00Z"));
  assert.deepEqual(transitions(notReady), [earlier, earlier, earlier, earlier]);
  assert.deepEqual(transitions(ready), [earlier, earlier, earlier, now]);
  assert.deepEqual(transitions(later), [earlier, earlier, earlier, now]);
});

Deno.test("nodeConditions: sets the transition time when Ready changes from Unknown", () => {
  const lost = [{ type: "Ready", status: "Unknown", lastTransitionTime: earlier }];
  const ready = nodeConditions(true, lost, now).find(({ type }) => type === "Ready");
  assert.deepEqual([ready?.status, ready?.lastTransitionTime], ["True", now]);
});

function transitions(conditions: { lastTransitionTime?: Date }[]): (Date | undefined)[] {
  return conditions.map(({ lastTransitionTime }) => lastTransitionTime);
}
