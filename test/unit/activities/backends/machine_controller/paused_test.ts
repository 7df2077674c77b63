import { deepEqual, equal, rejects } from "node:assert/strict";
import { stampTemplate } from "../../../../../activities/backends/machine_controller/holds.ts";
import { restoreLastGood } from "../../../../../activities/backends/machine_controller/last_good.ts";
import { readDesired } from "../../../../../activities/pool/read_desired.ts";
import { closeTemplateEngines } from "../../../../../profiles/mod.ts";
import { inActivity } from "../../../../support/activity_context.ts";
import type { FakeKube } from "../../../../support/fake_kube.ts";
import { machineDeployment, machineSet, pool, providerConfig } from "../../../../support/machine_objects.ts";
import { publisher, publishingKube } from "../../../../support/publishing_kube.ts";
import { renderConfig } from "../../../../support/rendered.ts";

Deno.test.afterAll(() => closeTemplateEngines());

const before = template("docker://example/ubuntu:1", "1.35.3");
const edited = template("docker://example/ubuntu:2", "1.36.1");

function template(image: string, kubelet: string): object {
  return {
    metadata: { labels: { pool: "pool" } },
    spec: { versions: { kubelet }, providerSpec: { value: providerConfig(image) } },
  };
}

/**
 * Returns a pool whose template was edited while it is paused: machine-controller (1.66) has observed the generation,
 * but created no MachineSet, and left the revision as it was (`sync`).
 */
async function pausedPool(wanted = edited, paused = true): Promise<FakeKube> {
  const kube = await publishingKube();
  const spec = { replicas: 3, paused, selector: { matchLabels: { pool: "pool" } }, template: wanted };
  const metadata = { ...machineDeployment().metadata, generation: 2 };
  kube.put("machinedeployments", { ...machineDeployment({ metadata, spec }), status: { observedGeneration: 2 } });
  const labels = { pool: "pool", "machine-template-hash": "hash-1" };
  kube.put("machinesets", { ...machineSet(), spec: { template: { ...before, metadata: { labels } } } });
  kube.writes.length = 0;
  return kube;
}

Deno.test("readDesired: returns the template that machine-controller uses, not one that was written while the pool is paused", async () => {
  const kube = await pausedPool();
  const seen = await readDesired({ kube: kube.client, profileNamespace: "kube-system" }, pool);
  const desired = seen.state === "Present" ? seen.desired : undefined;
  deepEqual([desired?.settled, desired?.templateHash], [true, "hash-1"]);
  deepEqual([desired?.image, desired?.kubelet], ["docker://example/ubuntu:1", "1.35.3"]);
});

Deno.test("readDesired: returns the same desired state of a pool whose template was not edited, paused or not", async () => {
  const [paused, running] = await Promise.all([true, false].map(async (isPaused) => {
    const kube = await pausedPool({ ...before, metadata: { labels: { pool: "pool" }, annotations: {} } }, isPaused);
    return await readDesired({ kube: kube.client, profileNamespace: "kube-system" }, pool);
  }));
  const hashOf = (seen?: Awaited<ReturnType<typeof readDesired>>) => seen?.state === "Present" && seen.desired.specHash;
  equal(hashOf(paused), hashOf(running));
});

Deno.test("renderConfig: renders for machines of a paused pool what their MachineSet has", async () => {
  const [paused, same] = await Promise.all([edited, before].map(async (wanted) => {
    return (await renderConfig(publisher(await pausedPool(wanted)), pool)).configDigest;
  }));
  equal(paused, same);
});

Deno.test("stampTemplate: halts the rollout of a paused pool, because the stamp would have no effect", async () => {
  const kube = await pausedPool(before);
  const order = { pool, templateHash: "hash-1", configDigest: "0123456789abcdef".repeat(4) };
  await rejects(stampTemplate(kube.client, order), { type: "SettleExpired", nonRetryable: true });
  deepEqual(kube.writes, []);
});

Deno.test("restoreLastGood: keeps a template that was written while the pool is paused", async () => {
  const kube = await pausedPool();
  const lastGood = {
    ...{ templateHash: "hash-0", revision: "0", image: "i", kubelet: "1.35.3", configDigest: "d", specHash: "" },
  };
  kube.put("machinesets", { ...machineSet("0", "hash-0"), spec: { template: template("other", "1.35.3") } });
  kube.put("rollouts", { metadata: { ...pool }, status: { lastGood } });
  const bad = { specHash: "hash-1 inputs", templateHash: "hash-1" };
  const order = { pool, by: "policy", reason: "r", bad };
  const place = { profileNamespace: "kube-system" };
  await rejects(inActivity(() => restoreLastGood(kube.client, order, place)), { type: "SettleExpired" });
  deepEqual(kube.writes, []);
});
