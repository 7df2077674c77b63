import { Buffer } from "node:buffer";
import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { publishConfig } from "../../../../activities/config/publish_config.ts";
import { renderConfig } from "../../../../activities/config/render_config.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import type { Publication } from "../../../../workflows/contracts.ts";
import { answer } from "../../../support/fake_kube.ts";
import type { FakeKube } from "../../../support/fake_kube.ts";
import { machineDeployment, pool, revisionKey } from "../../../support/machine_objects.ts";
import { canary, publisher, publishingKube, textOf } from "../../../support/publishing_kube.ts";

const provisioning = "pool-fleet-provisioning-config";
const kubeletBootstrap = "fleet-pool-kubelet-bootstrap-config";
const bootstrap = "pool-fleet-bootstrap-config";
const secrets = [provisioning, kubeletBootstrap, bootstrap];
const owner = "ostler.dev/machine-deployment";

Deno.test.afterAll(() => closeTemplateEngines());

async function publish(kube: FakeKube, revision = "1"): Promise<Publication> {
  const { configDigest } = await renderConfig(publisher(kube), pool);
  return await publishConfig(publisher(kube), { pool, revision, configDigest });
}

function secret(kube: FakeKube, name: string): ReturnType<FakeKube["get"]> {
  return kube.get("secrets", name, "cloud-init-settings");
}

/** Writes to what a machine boots from, without credentials and finalizer. */
function artefactWrites(kube: FakeKube): string[] {
  return kube.writes.filter((write) => /operatingsystemconfigs|cloud-init-settings\/.*-config/.test(write));
}

Deno.test("publishConfig writes in the order in which a machine needs it, the fence last", async () => {
  const kube = await publishingKube();
  const { news, artefacts } = await publish(kube);
  equal(news, "Published");
  deepEqual(artefactWrites(kube), [
    "create operatingsystemconfigs kube-system/pool-fleet-config",
    ...secrets.map((name) => `create secrets cloud-init-settings/${name}`),
  ]);
  deepEqual(artefacts.map(({ name }) => name), ["pool-fleet-config", ...secrets]);
  equal(secret(kube, bootstrap)?.metadata.annotations?.["k8c.io/machine-deployment-revision"], "1");
});

Deno.test("publishConfig puts the finalizer on before anything that it stands for", async () => {
  const kube = await publishingKube();
  await publish(kube);
  equal(kube.writes[0], "patch machinedeployments fleet/pool");
  const finalizers = kube.get("machinedeployments", "pool", "fleet")?.metadata.finalizers;
  deepEqual(finalizers, ["kubermatic.io/cleanup-operating-system-configs"]);
});

Deno.test("publishConfig gives machines a token that reads exactly their two secrets", async () => {
  const kube = await publishingKube();
  await publish(kube);
  deepEqual(kube.get("roles", "ostler-pool-fleet", "cloud-init-settings")?.["rules"], [{
    ...{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
    resourceNames: [provisioning, kubeletBootstrap],
  }]);
  ok(textOf(kube, bootstrap).includes(canary));
});

Deno.test("publishConfig writes nothing when everything is current", async () => {
  const kube = await publishingKube();
  const first = await publish(kube);
  kube.writes.length = 0;
  const second = await publish(kube);
  deepEqual([second.news, second.renewAt, second.expiresAt], ["None", first.renewAt, first.expiresAt]);
  deepEqual(kube.writes, []);
});

Deno.test("publishConfig replaces each secret in one update when the revision changes, so none is ever missing", async () => {
  const kube = await publishingKube();
  await publish(kube);
  const before = textOf(kube, provisioning);
  kube.writes.length = 0;
  kube.put("machinedeployments", machineDeployment({ annotations: { [revisionKey]: "2" }, kubelet: "1.36.1" }));
  equal((await publish(kube, "2")).news, "Published");
  deepEqual(artefactWrites(kube), [
    "replace operatingsystemconfigs kube-system/pool-fleet-config",
    ...secrets.map((name) => `replace secrets cloud-init-settings/${name}`),
  ]);
  notEqual(textOf(kube, provisioning), before);
});

Deno.test("publishConfig renews credentials that are past half of their life", async () => {
  const kube = await publishingKube();
  kube.token = { token: canary, expirationTimestamp: new Date(Date.now() - 1000) };
  await publish(kube);
  kube.token = { token: "the next token", expirationTimestamp: new Date(Date.now() + 3_600_000) };
  const { news, renewAt } = await publish(kube);
  equal(news, "Renewed");
  ok(Date.parse(renewAt) > Date.now());
  ok(textOf(kube, bootstrap).includes("the next token"));
});

Deno.test("publishConfig plans the renewal by the life that was given, however much was asked", async () => {
  const kube = await publishingKube();
  const expiry = Date.now() + 600_000;
  kube.token = { token: canary, expirationTimestamp: new Date(expiry) };
  const { renewAt, expiresAt } = await publish(kube);
  equal(Date.parse(expiresAt), expiry);
  ok(Date.parse(renewAt) > Date.now() && Date.parse(renewAt) < expiry, renewAt);
});

Deno.test("publishConfig finishes a renewal that stopped half way", async () => {
  const kube = await publishingKube();
  kube.token = { token: canary, expirationTimestamp: new Date(Date.now() - 1000) };
  await publish(kube);
  kube.token = { token: "the next token", expirationTimestamp: new Date(Date.now() + 3_600_000) };
  kube.onRequest = (request) => {
    if (request === `replace secrets cloud-init-settings/${bootstrap}`) throw answer(503, "ServiceUnavailable");
  };
  await rejects(publish(kube), { type: "ApiUnavailable" });
  kube.onRequest = () => {};
  equal((await publish(kube)).news, "Renewed");
  ok(textOf(kube, bootstrap).includes("the next token"));
});

Deno.test("publishConfig publishes again what somebody took away", async () => {
  const kube = await publishingKube();
  await publish(kube);
  kube.remove("secrets", kubeletBootstrap, "cloud-init-settings");
  await publish(kube);
  notEqual(secret(kube, kubeletBootstrap), undefined);
});

for (const name of [...secrets, "pool-fleet-config"]) {
  Deno.test(`publishConfig overwrites nothing when another pool owns ${name}`, async () => {
    const kube = await publishingKube();
    const isSecret = name !== "pool-fleet-config";
    const [plural, namespace] = isSecret
      ? ["secrets", "cloud-init-settings"]
      : ["operatingsystemconfigs", "kube-system"];
    kube.put(plural, { metadata: { namespace, name, annotations: { [owner]: "fleet-a/b" } }, spec: {} });
    await rejects(publish(kube), (error: Error & { type?: string }) => {
      equal(error.type, "NameCollision");
      match(error.message, /"fleet\/pool": MachineDeployment "fleet-a\/b" already owns that name/);
      return true;
    });
    deepEqual(kube.writes, []);
  });
}

Deno.test("publishConfig takes over what Operating System Manager left, immutable as it is", async () => {
  const kube = await publishingKube();
  const annotations = { "k8c.io/mdannotations-hash": "x", "k8c.io/machine-deployment-revision": "1" };
  for (const name of secrets) {
    const metadata = { namespace: "cloud-init-settings", name, annotations };
    kube.put("secrets", { metadata, immutable: true, data: { "cloud-config": "b2xk" } });
  }
  equal((await publish(kube)).news, "Published");
  ok(textOf(kube, bootstrap).includes(canary));
  equal(secret(kube, bootstrap)?.metadata.annotations?.[owner], "fleet/pool");
  equal(secret(kube, bootstrap)?.["immutable"], undefined);
});

Deno.test("publishConfig leaves newer work alone when the world has moved on", async () => {
  const kube = await publishingKube({ annotations: { [revisionKey]: "2" } });
  await rejects(publish(kube, "1"), { type: "GenerationStale", nonRetryable: true });
  deepEqual(kube.writes, []);
});

Deno.test("publishConfig tries again after a conflict instead of overwriting", async () => {
  const kube = await publishingKube();
  await publish(kube);
  kube.put("machinedeployments", machineDeployment({ annotations: { [revisionKey]: "2" } }));
  kube.onRequest = (request) => {
    if (!request.startsWith(`replace secrets cloud-init-settings/${provisioning}`)) return;
    kube.put("secrets", {
      ...secret(kube, provisioning),
      metadata: { name: provisioning, namespace: "cloud-init-settings" },
    });
  };
  await rejects(publish(kube, "2"), { type: "ApiUnavailable", nonRetryable: false });
});

Deno.test("publishConfig lets no secret byte out, in success or in failure", async () => {
  const kube = await publishingKube();
  const published = JSON.stringify(await publish(kube));
  const bootstrapToken = /token: (\S+)/.exec(textOf(kube, kubeletBootstrap))?.[1] ?? "";
  match(bootstrapToken, /^[a-z0-9]{6}\.[a-z0-9]{16}$/);
  ok(textOf(kube, bootstrap).includes(canary));
  const bytes = [canary, bootstrapToken].flatMap((text) => [text, Buffer.from(text).toString("base64")]);
  for (const code of [400, 409, 422, 500]) {
    kube.onRequest = (request) => {
      if (request.startsWith("replace secrets")) throw answer(code, "Invalid", `you sent ${bytes}`);
    };
    kube.put("machinedeployments", machineDeployment({ annotations: { [revisionKey]: String(code) } }));
    const failure = await publish(kube, String(code)).then(() => undefined, (reason: Error) => reason);
    ok(failure !== undefined);
    const seen = `${published} ${failure.message} ${failure.stack} ${JSON.stringify(failure)} ${failure.cause}`;
    for (const byte of bytes) equal(seen.includes(byte), false, `${code} tells ${byte}`);
  }
});
