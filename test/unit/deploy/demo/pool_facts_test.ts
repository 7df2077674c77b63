import assert from "node:assert/strict";
import { type ApiObject, readers } from "../../../../deploy/local/observer/pool_facts.ts";

const pool = { namespace: "kube-system", name: "pool" };
const name = "pool-68b87-x2x9k";

function node(status: string): ApiObject {
  return {
    metadata: { name },
    status: { conditions: [{ type: "MemoryPressure", status: "True" }, { type: "Ready", status }] },
  };
}

Deno.test("readers.nodes: treats a node as Ready only when its condition Ready is True", () => {
  assert.equal(readers.nodes(pool, node("True")), true);
  assert.equal(readers.nodes(pool, node("Unknown")), false);
  assert.equal(readers.nodes(pool, { metadata: { name } }), false);
  assert.equal(readers.nodes(pool, { ...node("True"), metadata: { name: "stranger" } }), undefined);
});

Deno.test("readers.machines: treats a held machine as pending until it has an instance", () => {
  const annotations = { "machine-controller.kubermatic.io/initializers": "machine-deployment/kube-system/pool" };
  assert.equal(readers.machines(pool, { metadata: { name } }), true);
  assert.equal(readers.machines(pool, { metadata: { name, annotations } }), false);
  const finalizers = ["machine-delete-finalizer"];
  assert.equal(readers.machines(pool, { metadata: { name, annotations, finalizers } }), true);
});

Deno.test("readers.secrets: checks that each Secret has its data key, and keeps no bytes of the data", () => {
  const secret = (data: object) => ({ metadata: { name: "pool-kube-system-bootstrap-config" }, data });
  assert.equal(readers.secrets(pool, secret({ "cloud-config": "c2VjcmV0" })), true);
  assert.equal(readers.secrets(pool, secret({ "cloud-config": "" })), false);
  assert.equal(readers.secrets(pool, secret({ kubeconfig: "c2VjcmV0" })), false);
  assert.equal(
    readers.secrets(pool, { metadata: { name: "other-kube-system-bootstrap-config" }, data: {} }),
    undefined,
  );
});
