import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { OwnCertificate } from "../../../../workers/admission/certificate/own_certificate.ts";

const secret = { namespace: "ostler-system", name: "ostler-webhook-authority" };
const overlapMs = 1_000;

/**
 * Returns a fake API server, a function that creates a webhook on it, and a function that advances the shared clock.
 */
function scene(): { kube: FakeKube; webhook: () => OwnCertificate; pass: (ms: number) => void } {
  const kube = new FakeKube();
  let time = Date.parse("2026-01-01T00:00:00Z");
  const clock = (): number => time;
  const order = { secret, hosts: ["127.0.0.1"], overlapMs, now: clock, elapsed: clock };
  return { kube, webhook: () => new OwnCertificate(kube.client, order), pass: (ms) => void (time += ms) };
}

Deno.test("own certificate: webhooks that start at the same time all serve the same certificate, which one of them wrote", async () => {
  const { kube, webhook } = scene();
  const seen = await Promise.all([webhook(), webhook(), webhook()].map((one) => one.look()));
  equal(new Set(seen.map(({ serving }) => serving.cert)).size, 1);
  equal(kube.get("secrets", secret.name, secret.namespace)?.["type"], "Opaque");
});

Deno.test("own certificate: after its Secret is deleted, serves the old certificate until the API server trusts the new authority", async () => {
  const { kube, webhook, pass } = scene();
  const own = webhook();
  const before = await own.look();
  kube.remove("secrets", secret.name, secret.namespace);
  const after = await own.look();
  deepEqual(after.authorities.slice(1), before.authorities);
  deepEqual(after.serving, before.serving);
  pass(overlapMs * 10);
  deepEqual(
    (await own.look()).serving,
    before.serving,
    "Expected the old certificate, because the API server does not trust the new one yet",
  );
  own.sawTrusted(after);
  pass(overlapMs);
  const served = await own.look();
  notEqual(served.serving.cert, before.serving.cert);
  pass(overlapMs);
  deepEqual((await own.look()).authorities, after.authorities.slice(0, 1));
});

Deno.test("own certificate: treats an invalid Secret as a deleted Secret", async () => {
  const { kube, webhook } = scene();
  const own = webhook();
  const before = await own.look();
  const object = kube.get("secrets", secret.name, secret.namespace);
  ok(object);
  kube.put("secrets", { ...object, data: { "ca.crt": "bm9uZQ==" } });
  equal((await own.look()).authorities[1], before.authorities[0]);
  equal((await webhook().look()).serving.cert, before.serving.cert);
});

Deno.test("own certificate: fails after repeated conflicts, and without permission for the Secret", async () => {
  const { kube, webhook } = scene();
  kube.onRequest = (request) => {
    if (request.startsWith("create")) throw answer(409, "AlreadyExists", "there");
  };
  await rejects(
    webhook().look(),
    /Failed to write the certificate to Secret "ostler-system\/ostler-webhook-authority"/,
  );
  kube.onRequest = () => {
    throw answer(403, "Forbidden", "not for you");
  };
  await rejects(webhook().look());
});
