import { deepEqual, equal, rejects } from "node:assert/strict";
import { ensureNodeCordoned, ensureNodeUncordoned } from "../../../../activities/node/cordon.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { holder, node, pool } from "../../../support/machine_objects.ts";

const target = { pool, node: "n" };
const disabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
const [cordonedBy, keptBy] = ["ostler.dev/cordoned-by", "ostler.dev/scale-down-disabled-by"];

function kubeWith({ unschedulable, annotations = {} }: {
  unschedulable?: boolean;
  annotations?: Record<string, string>;
} = {}): FakeKube {
  const kube = new FakeKube();
  const made = node("n");
  kube.put("nodes", { ...made, metadata: { ...made.metadata, annotations }, spec: { unschedulable } });
  return kube;
}

function stateOf(kube: FakeKube): unknown[] {
  const found = kube.get("nodes", "n");
  return [found?.["spec"], found?.metadata.annotations];
}

Deno.test("ensureNodeCordoned: cordons the node, disables its scale-down by the autoscaler, records the pool, and writes only once", async () => {
  const kube = kubeWith();
  await ensureNodeCordoned(kube.client, target);
  await ensureNodeCordoned(kube.client, target);
  deepEqual(stateOf(kube), [{ unschedulable: true }, { [cordonedBy]: holder, [disabled]: "true", [keptBy]: holder }]);
  deepEqual(kube.writes, ["patch nodes n"]);
});

Deno.test("ensureNodeUncordoned: removes the cordon and all annotations of Ostler, and keeps other annotations", async () => {
  const kube = kubeWith({ annotations: { other: "stays" } });
  await ensureNodeCordoned(kube.client, target);
  await ensureNodeUncordoned(kube.client, target);
  deepEqual(stateOf(kube), [{}, { other: "stays" }]);
});

Deno.test("ensureNodeUncordoned: keeps an earlier cordon of a person", async () => {
  const theirs = { unschedulable: true, annotations: { [disabled]: "true" } };
  const kube = kubeWith(theirs);
  await ensureNodeCordoned(kube.client, target);
  await ensureNodeUncordoned(kube.client, target);
  deepEqual([stateOf(kube), kube.writes], [[{ unschedulable: true }, { [disabled]: "true" }], []]);
});

Deno.test("ensureNodeUncordoned: leaves the cordon of another pool alone", async () => {
  const kube = kubeWith();
  await ensureNodeCordoned(kube.client, { pool: { namespace: "fleet", name: "other" }, node: "n" });
  await ensureNodeUncordoned(kube.client, target);
  deepEqual(kube.get("nodes", "n")?.["spec"], { unschedulable: true });
});

Deno.test("ensureNodeCordoned, ensureNodeUncordoned: succeed when the node is deleted", async () => {
  const kube = new FakeKube();
  await ensureNodeCordoned(kube.client, target);
  await ensureNodeUncordoned(kube.client, target);
  deepEqual(kube.writes, []);
});

Deno.test("ensureNodeCordoned: is retried after a conflict", async () => {
  const kube = kubeWith();
  kube.onRequest = (request) => {
    if (request === "patch nodes n") kube.put("nodes", { ...node("n"), spec: { unschedulable: true } });
  };
  await rejects(ensureNodeCordoned(kube.client, target), { type: "ApiUnavailable", nonRetryable: false });
  equal(kube.get("nodes", "n")?.metadata.annotations, undefined);
});

Deno.test("fault ensureNodeCordoned: cordons a node without room for annotations, because a compromised node can fill its Node and must not stop the rollout of its pool", async () => {
  const kube = kubeWith({ annotations: { filled: "by the node" } });
  let patches = 0;
  kube.onRequest = (request) => {
    if (request.startsWith("patch") && patches++ === 0) throw full();
  };
  await ensureNodeCordoned(kube.client, target);
  deepEqual(stateOf(kube), [{ unschedulable: true }, { filled: "by the node" }]);
  kube.onRequest = (request) => {
    if (request.startsWith("patch")) throw full();
  };
  await ensureNodeCordoned(kube.client, target);
  await ensureNodeUncordoned(kube.client, target);
  deepEqual(stateOf(kube), [{ unschedulable: true }, { filled: "by the node" }]);
});

Deno.test("fault ensureNodeCordoned: cordons a node with so many annotations that the policy for Nodes cannot compare them within the cost limit of the API server", async () => {
  const kube = kubeWith({ annotations: { filled: "by the node" } });
  let patches = 0;
  kube.onRequest = (request) => {
    if (request.startsWith("patch") && patches++ === 0) throw tooExpensive("limit-nodes");
  };
  await ensureNodeCordoned(kube.client, target);
  deepEqual([patches, stateOf(kube)], [2, [{ unschedulable: true }, { filled: "by the node" }]]);
  const other = kubeWith();
  other.onRequest = (request) => {
    if (request.startsWith("patch")) throw tooExpensive("another-policy");
  };
  await rejects(ensureNodeCordoned(other.client, target), { type: "ObjectInvalid" });
});

Deno.test("fault ensureNodeUncordoned: uncordons such a node, and fails, because a run would repeat the removal of its annotations without end", async () => {
  const kube = kubeWith({ unschedulable: true, annotations: { [cordonedBy]: holder } });
  let patches = 0;
  kube.onRequest = (request) => {
    if (request.startsWith("patch") && patches++ === 0) throw tooExpensive("limit-nodes");
  };
  await rejects(ensureNodeUncordoned(kube.client, target), { type: "ObjectInvalid" });
  deepEqual(stateOf(kube), [{}, { [cordonedBy]: holder }]);
});

/** The denial by a policy whose variable exceeds the limit (k8s.io/apiserver, admission/plugin/cel/composition.go). */
function tooExpensive(policy: string): Error {
  const name = `${policy}.ostler.dev`;
  const cause =
    'composited variable "changedAnnotations" fails to evaluate: operation cancelled: actual cost limit exceeded';
  const denial = `expression 'variables.changedAnnotations.all(key,\n  true)' resulted in error: ${cause}`;
  return answer(
    422,
    "Invalid",
    `nodes "n" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${denial}`,
  );
}

/** The response to a write that would give an object more than 256 KiB of annotations. */
function full(): Error {
  const causes = [{ reason: "FieldValueTooLong", message: "Too long", field: "metadata.annotations" }];
  const body = { kind: "Status", code: 422, reason: "Invalid", message: "is invalid", details: { causes } };
  return Object.assign(answer(422, "Invalid"), { body: JSON.stringify(body) });
}
