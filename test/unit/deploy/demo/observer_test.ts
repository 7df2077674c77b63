import assert from "node:assert/strict";
import { type Observer, startObserver } from "../../../../deploy/local/observer/observer.ts";
import type { ApiObject } from "../../../../deploy/local/observer/pool_facts.ts";
import { poolSecrets } from "../../../../deploy/local/observer/pool_names.ts";
import { FakeSource } from "./fake_source.ts";

const pool = { namespace: "kube-system", name: "pool" };
const nodesPath = "/api/v1/nodes";
const secretsPath = "/api/v1/namespaces/cloud-init-settings/secrets";
const instancesPath = "/apis/kubevirt.io/v1/virtualmachines";

function node(name: string, version: string, status = "True"): ApiObject {
  return { metadata: { name, resourceVersion: version }, status: { conditions: [{ type: "Ready", status }] } };
}

function sourceOfOne(): FakeSource {
  const source = new FakeSource();
  const secrets = Object.entries(poolSecrets(pool)).map(([name, key]) => ({
    metadata: { name },
    data: { [key]: "eA==" },
  }));
  source.collections.set(secretsPath, secrets);
  source.collections.set(instancesPath, [{ metadata: { name: "pool-h-aaaaa" } }]);
  source.collections.set(nodesPath, [node("pool-h-aaaaa", "1")]);
  return source;
}

async function observe(source: FakeSource): Promise<Observer> {
  const watched = { kubeconfig: "", namespace: "kube-system", pool: "pool", replicas: 1, lastLookMs: 50 };
  const observer = await startObserver({ ...watched, source });
  observer.arm();
  return observer;
}

Deno.test("startObserver: observes each event and reports a fleet without violations", async () => {
  const source = sourceOfOne();
  const observer = await observe(source);
  source.tell(instancesPath, "ADDED", { metadata: { name: "pool-h-bbbbb", resourceVersion: "2" } });
  source.tell(nodesPath, "ADDED", node("pool-h-bbbbb", "3"));
  source.tell(instancesPath, "DELETED", { metadata: { name: "pool-h-aaaaa", resourceVersion: "4" } });
  const report = await observer.stop();
  assert.equal(report.ok, true);
  assert.deepEqual([report.readyNodes.min, report.machines.max], [1, 2]);
  assert.equal(source.isClosed, true);
});

Deno.test("startObserver: reports a secret that was missing for one event only", async () => {
  const source = sourceOfOne();
  const observer = await observe(source);
  const name = "pool-kube-system-bootstrap-config";
  source.tell(secretsPath, "DELETED", { metadata: { name, resourceVersion: "2" }, data: { "cloud-config": "eA==" } });
  source.tell(secretsPath, "ADDED", { metadata: { name, resourceVersion: "3" }, data: { "cloud-config": "eA==" } });
  const report = await observer.stop();
  assert.deepEqual(report.secrets, { watched: Object.keys(poolSecrets(pool)), missing: 1, ok: false });
  assert.equal(report.ok, false);
});

Deno.test("startObserver: resumes an interrupted watch at the last observed resourceVersion, without a gap", async () => {
  const source = sourceOfOne();
  const observer = await observe(source);
  source.newest(nodesPath)?.tell({ type: "BOOKMARK", object: { metadata: { resourceVersion: "7" } } });
  const reopened = source.opened(nodesPath);
  source.newest(nodesPath)?.end("ended");
  assert.equal((await reopened).version, "7");
  source.tell(nodesPath, "MODIFIED", node("pool-h-aaaaa", "8", "False"));
  const report = await observer.stop();
  assert.deepEqual(report.gaps, []);
  assert.equal(report.resumes, 1);
  assert.equal(report.readyNodes.min, 0);
});

Deno.test("startObserver: records a gap and lists again when the observed resourceVersion has expired", async () => {
  const source = sourceOfOne();
  const observer = await observe(source);
  source.version = "9";
  source.collections.set(nodesPath, [node("pool-h-aaaaa", "9", "False")]);
  const reopened = source.opened(nodesPath);
  source.newest(nodesPath)?.end("expired");
  assert.equal((await reopened).version, "9");
  const report = await observer.stop();
  assert.equal(report.gaps.length, 1);
  assert.match(report.gaps[0] ?? "", /^Changes of "\/api\/v1\/nodes" after version 1 are unknown/);
  assert.equal(report.readyNodes.min, 0);
  assert.equal(report.ok, false);
});

Deno.test("startObserver: records a gap when its final check finds a missed change", async () => {
  const source = sourceOfOne();
  const observer = await observe(source);
  source.collections.set(nodesPath, []);
  const report = await observer.stop();
  assert.equal(report.readyNodes.ok, true);
  assert.match(report.gaps[0] ?? "", /the watch has not seen changes of pool-h-aaaaa/);
  assert.equal(report.ok, false);
});

Deno.test("startObserver: records a gap when its final check fails", async () => {
  const source = sourceOfOne();
  const observer = await observe(source);
  source.list = () => Promise.reject(new Error("connection refused"));
  const report = await observer.stop();
  assert.match(report.gaps[0] ?? "", /connection refused/);
  assert.equal(report.ok, false);
});
