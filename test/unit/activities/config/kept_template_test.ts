import { deepEqual, rejects } from "node:assert/strict";
import { restoreLastGood } from "../../../../activities/backends/machine_controller/last_good.ts";
import { publishDesired } from "../../../../activities/pool/read_round.ts";
import { readDesired } from "../../../../activities/pool/read_desired.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import type { FakeKube, Stored } from "../../../support/fake_kube.ts";
import { machineDeployment, machineSet, pool, providerConfig, revisionKey } from "../../../support/machine_objects.ts";
import { publisher, publishingKube, putProfile } from "../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

function templateOf(image: string): object {
  const value = providerConfig(image);
  return { metadata: { labels: { pool: "pool" } }, spec: { versions: { kubelet: "1.35.3" }, providerSpec: { value } } };
}

function putTemplate(kube: FakeKube, revision: string, image: string): void {
  const { metadata: { finalizers } } = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  const spec = { template: templateOf(image) };
  const annotations = { [revisionKey]: revision };
  kube.put("machinedeployments", machineDeployment({ annotations, metadata: { finalizers }, spec }));
  kube.put("machinesets", { ...machineSet(revision, `hash-${revision}`), spec });
}

function publish(kube: FakeKube): Promise<unknown> {
  return inActivity(() => publishDesired(publisher(kube), { pool }));
}

function restore(kube: FakeKube): Promise<{ changed: boolean }> {
  const order = { pool, by: "ann", reason: "it does not boot" };
  return inActivity(() => restoreLastGood(publisher(kube).kube, order, publisher(kube)));
}

function keysOf(kube: FakeKube): string[] {
  const secret = kube.get("secrets", "ostler-last-good-pool-fleet", "cloud-init-settings");
  return Object.keys(secret?.["data"] as object).filter((key) => key.startsWith("template."));
}

/** Returns a pool that converged with revision 1 and rolls revision 3, after a rollback from revision 2. */
async function rolling(): Promise<FakeKube> {
  const kube = await publishingKube();
  kube.remove("machinesets", "pool-hash-0", "fleet");
  putTemplate(kube, "1", "docker://example/ubuntu:1");
  await publish(kube);
  const seen = await readDesired(publisher(kube), pool);
  if (seen.state !== "Present") throw new Error(`Failed to converge: the pool is ${seen.state}`);
  const { specHash, templateHash, revision } = seen.desired;
  kube.put("rollouts", { metadata: { ...pool }, status: { lastGood: { specHash, templateHash, revision } } });
  putTemplate(kube, "2", "docker://example/ubuntu:2");
  putTemplate(kube, "3", "docker://example/ubuntu:3");
  return kube;
}

Deno.test("restoreLastGood: restores the last good template after machine-controller has deleted its MachineSet as the oldest one", async () => {
  const kube = await rolling();
  await publish(kube);
  putProfile(kube, { bootstrap: "of another profile" });
  await publish(kube);
  kube.remove("machinesets", "pool-hash-1", "fleet");
  await publish(kube);
  deepEqual(await restore(kube), { changed: true });
  const { template } = kube.get("machinedeployments", "pool", "fleet")?.["spec"] as { template: object };
  deepEqual(template, templateOf("docker://example/ubuntu:1"));
});

Deno.test("publishDesired: keeps the last good template as it is now, and only the newest one", async () => {
  const kube = await rolling();
  await publish(kube);
  const spec = { template: templateOf("docker://example/ubuntu:1b") };
  kube.put("machinesets", { ...kube.get("machinesets", "pool-hash-1", "fleet") as Stored, spec });
  await publish(kube);
  deepEqual(keysOf(kube), ["template.hash-1"]);
  kube.remove("machinesets", "pool-hash-1", "fleet");
  await restore(kube);
  const { template } = kube.get("machinedeployments", "pool", "fleet")?.["spec"] as { template: object };
  deepEqual(template, spec.template);
});

Deno.test("publishDesired: keeps no template while only the last good and the desired MachineSets exist", async () => {
  const kube = await rolling();
  kube.remove("machinesets", "pool-hash-2", "fleet");
  await publish(kube);
  deepEqual(keysOf(kube), []);
});

Deno.test("publishDesired: keeps no template whose MachineSet machine-controller keeps, as it deletes an older one", async () => {
  const kube = await rolling();
  for (const [nth, hash] of ["hash-2", "hash-1", "hash-3"].entries()) {
    const { metadata, ...set } = kube.get("machinesets", `pool-${hash}`, "fleet") as Stored;
    kube.put("machinesets", { ...set, metadata: { ...metadata, creationTimestamp: `2026-01-0${nth + 1}T00:00:00Z` } });
  }
  await publish(kube);
  deepEqual(keysOf(kube), []);
});

Deno.test("publishDesired: keeps the last good template if machine-controller keeps no old MachineSet at all", async () => {
  const kube = await rolling();
  kube.remove("machinesets", "pool-hash-2", "fleet");
  const deployment = kube.get("machinedeployments", "pool", "fleet");
  const spec = { ...deployment?.["spec"] as object, revisionHistoryLimit: 0 };
  kube.put("machinedeployments", { ...deployment, spec } as Stored);
  await publish(kube);
  deepEqual(keysOf(kube), ["template.hash-1"]);
});

Deno.test("restoreLastGood: refuses if neither a MachineSet nor a kept copy has the last good template", async () => {
  const kube = await rolling();
  kube.remove("machinesets", "pool-hash-1", "fleet");
  await publish(kube);
  await rejects(restore(kube), { type: "LastGoodMissing", nonRetryable: true });
});
