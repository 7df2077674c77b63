import { deepEqual, equal } from "node:assert/strict";
import { renderConfig } from "../../../../support/rendered.ts";
import { stampTemplate } from "../../../../../activities/backends/machine_controller/holds.ts";
import { closeTemplateEngines } from "../../../../../profiles/mod.ts";
import { FakeKube } from "../../../../support/fake_kube.ts";
import { machineDeployment, pool, revisionKey } from "../../../../support/machine_objects.ts";
import { publisher, publishingKube } from "../../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

const order = { pool, templateHash: "template-1", configDigest: "0123456789abcdef".repeat(4) };

function annotationsOf(kube: FakeKube): unknown {
  const { template } = kube.get("machinedeployments", "pool", "fleet")?.["spec"] as {
    template: { metadata?: { annotations?: unknown } };
  };
  return template.metadata?.annotations;
}

Deno.test("stampTemplate: writes a digest of template and config into the template, once", async () => {
  const kube = await publishingKube();
  equal(await stampTemplate(kube.client, order), "04c79257b5314679");
  deepEqual(annotationsOf(kube), { "ostler.dev/config": "04c79257b5314679" });
  kube.writes.length = 0;
  equal(await stampTemplate(kube.client, order), "04c79257b5314679");
  deepEqual(kube.writes, []);
});

Deno.test("stampTemplate: writes another digest for another template with the same config", async () => {
  const kube = await publishingKube();
  for (const templateHash of ["template-1", "template-2"]) {
    await stampTemplate(kube.client, { ...order, templateHash });
  }
  deepEqual(annotationsOf(kube), { "ostler.dev/config": "b2b57bff749c8043" });
});

Deno.test("stampTemplate: changes nothing else in template and annotations", async () => {
  const kube = new FakeKube();
  const metadata = { labels: { pool: "pool" }, annotations: { note: "hello", "ostler.dev/config": "earlier" } };
  const template = { metadata, spec: { versions: { kubelet: "1.35.3" } } };
  const before = machineDeployment({ spec: { template } });
  kube.put("machinedeployments", before);
  await stampTemplate(kube.client, order);
  deepEqual(annotationsOf(kube), { note: "hello", "ostler.dev/config": "04c79257b5314679" });
  deepEqual(kube.get("machinedeployments", "pool", "fleet")?.metadata.annotations, before.metadata.annotations);
});

Deno.test("stampTemplate: succeeds for a deleted MachineDeployment", async () => {
  const kube = new FakeKube();
  await stampTemplate(kube.client, order);
  deepEqual(kube.writes, []);
});

Deno.test("stampTemplate: neither the stamp in the template nor the revision that follows changes the digest of the rendered config", async () => {
  const kube = await publishingKube();
  const { configDigest } = await renderConfig(publisher(kube), pool);
  await stampTemplate(kube.client, { ...order, configDigest });
  equal((await renderConfig(publisher(kube), pool)).configDigest, configDigest);
  const { metadata, ...stamped } = kube.get("machinedeployments", "pool", "fleet") ?? machineDeployment();
  const annotations = { ...metadata.annotations, [revisionKey]: "2" };
  kube.put("machinedeployments", { ...stamped, metadata: { ...metadata, annotations } });
  equal((await renderConfig(publisher(kube), pool)).configDigest, configDigest);
});
