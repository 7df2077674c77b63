import { deepEqual, equal, match } from "node:assert/strict";
import { ensureNodeAnnotated, joinDeadlineOf, stepOf } from "../../../../activities/node_version/joining_nodes.ts";
import { marks } from "../../../../activities/node_version/marks.ts";
import { JoiningNode } from "../../../../activities/kube/update_kinds.ts";
import type { JoiningOutcome } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { node } from "../../../support/machine_objects.ts";

const made = Date.parse("2026-01-01T00:00:00Z");
const hourMs = 3_600_000;

function recordOf(spec: object = {}, creationTimestamp = new Date(made).toISOString()): JoiningNode {
  const metadata = { name: "record", uid: "uid-of-record", creationTimestamp };
  return JoiningNode.parse({ metadata, spec: { name: "w", componentsreference: "k8s-components-2", ...spec } });
}

type Given = Parameters<typeof stepOf>[1];

function nodeMade(at: number, { ready = true, leaving = false } = {}): Given {
  const conditions = [{ type: "Ready", status: ready ? "True" : "False" }];
  const [creationTimestamp, deletionTimestamp] = [new Date(at), new Date(at)];
  return {
    metadata: { name: "w", creationTimestamp, ...(leaving ? { deletionTimestamp } : {}) },
    status: { conditions },
  };
}

const past = { deadline: new Date(made - 1).toISOString() };
const steps: [string, JoiningNode, Given, string][] = [
  ["waits for a missing node", recordOf(), undefined, "Wait"],
  [
    "JN1 annotates a node that is newer than its JoiningNode, Ready or not",
    recordOf(),
    nodeMade(made, { ready: false }),
    "Annotate",
  ],
  [
    "JN2 annotates a node that is older than its JoiningNode when it is Ready",
    recordOf(),
    nodeMade(made - hourMs),
    "Annotate",
  ],
  [
    "waits while a node that is older than its JoiningNode is not Ready",
    ...[recordOf(), nodeMade(made - hourMs, { ready: false })] as const,
    "Wait",
  ],
  ["waits while the node is being deleted", recordOf(), nodeMade(made, { leaving: true }), "Wait"],
  ["JN3 gives up a JoiningNode after its deadline while its node is missing", recordOf(past), undefined, "Expire"],
  ["annotates an existing node even after the deadline", recordOf(past), nodeMade(made), "Annotate"],
  [
    "annotates nothing when the JoiningNode names no components",
    recordOf({ componentsreference: "" }),
    nodeMade(made),
    "Wait",
  ],
];

for (const [what, record, given, step] of steps) {
  Deno.test(`stepOf: ${what}`, () => equal(stepOf(record, given, made), step));
}

Deno.test("joinDeadlineOf: returns two days after the creation by default, and at most seven days after it", () => {
  const hours = (record: JoiningNode): number => (joinDeadlineOf(record) - made) / hourMs;
  deepEqual([hours(recordOf()), hours(recordOf({ deadline: "9999-01-01T00:00:00Z" }))], [48, 7 * 24]);
});

function kubeWith(spec: object = {}): FakeKube {
  const kube = new FakeKube();
  const metadata = { name: "record", uid: "uid-of-record", creationTimestamp: new Date().toISOString() };
  kube.put("joiningnodes", { metadata, spec: { name: "w", componentsreference: "k8s-components-2", ...spec } });
  return kube;
}

function admitted(kube: FakeKube): Promise<JoiningOutcome> {
  return inActivity(() => ensureNodeAnnotated(kube.client, { object: { name: "record" } }));
}

function annotationsOf(kube: FakeKube): unknown {
  return kube.get("nodes", "w")?.metadata.annotations;
}

Deno.test("JN1 ensureNodeAnnotated: annotates a new node with its components immediately, and deletes the JoiningNode", async () => {
  const kube = kubeWith();
  equal((await admitted(kube)).outcome, "Waiting");
  deepEqual(kube.writes, []);
  kube.put("nodes", node("w"));
  deepEqual(await admitted(kube), { outcome: "Annotated", node: "w", components: "k8s-components-2" });
  deepEqual([annotationsOf(kube), kube.get("joiningnodes", "record")], [
    { [marks.components]: "k8s-components-2" },
    undefined,
  ]);
  deepEqual(await admitted(kube), { outcome: "Gone" }); // a second attempt
});

Deno.test("JN5 ensureNodeAnnotated: uses the new components when the JoiningNode is replaced during the activity", async () => {
  const kube = kubeWith();
  kube.put("nodes", node("w"));
  let isWritten = false;
  kube.onRequest = (line) => {
    if (line.startsWith("delete joiningnodes") && !isWritten) {
      isWritten = true;
      const stored = kube.get("joiningnodes", "record");
      if (stored) kube.put("joiningnodes", { ...stored, spec: { name: "w", componentsreference: "k8s-components-3" } });
    }
    return Promise.resolve();
  };
  deepEqual(await admitted(kube), { outcome: "Annotated", node: "w", components: "k8s-components-3" });
  deepEqual(annotationsOf(kube), { [marks.components]: "k8s-components-3" });
});

Deno.test("JN3 ensureNodeAnnotated: deletes an expired JoiningNode, and sends an Event", async () => {
  const kube = kubeWith({ deadline: new Date(Date.now() - 1_000).toISOString() });
  const outcome = await admitted(kube);
  match("says" in outcome ? outcome.says : "", /^Node "w" did not join by 20/);
  equal(kube.get("joiningnodes", "record"), undefined);
  const [event] = kube.all("events");
  deepEqual([event?.["reason"], event?.metadata.namespace, event?.["involvedObject"]], ["JoinExpired", "default", {
    apiVersion: "update.edgeless.systems/v1alpha1",
    kind: "JoiningNode",
    name: "record",
    uid: "uid-of-record",
  }]);
});
