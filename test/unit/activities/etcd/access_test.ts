import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { ApplicationFailure } from "@temporalio/common";
import { readEtcdAccess } from "../../../../activities/etcd/access.ts";
import { faultInCertificates } from "../../../../activities/etcd/certificates.ts";
import { CertificateAuthority } from "../../../../deploy/local/stack/certificate_authority.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

const where = { namespace: "ostler-system", name: "etcd" };
const authority = await CertificateAuthority.create("etcd");
const client = await authority.issue({ commonName: "ostler", use: "client" });
const other = await authority.issue({ commonName: "other", use: "client" });
const whole = { "ca.crt": authority.certificatePem, "tls.crt": client.certificatePem, "tls.key": client.keyPem };

function secretOf(texts: Record<string, string>): FakeKube {
  const kube = new FakeKube();
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
  kube.put("secrets", { metadata: where, data });
  return kube;
}

Deno.test("readEtcdAccess: returns the client certificate, and hides it from logs", async () => {
  const access = await readEtcdAccess(secretOf(whole).client, where);
  const { ca, cert, key } = access.credentials;
  deepEqual({ "ca.crt": ca, "tls.crt": cert, "tls.key": key }, whole);
  equal(access.endpoints, undefined);
  for (const text of [JSON.stringify(access), Deno.inspect(access, { depth: 9 }), String(access)]) {
    ok(!text.includes("PRIVATE KEY"), text);
  }
});

Deno.test("readEtcdAccess: returns the endpoints of an external etcd", async () => {
  const kube = secretOf({ ...whole, endpoints: " https://e1.example:2379, https://10.0.0.1:2379/ ,\n" });
  const { endpoints } = await readEtcdAccess(kube.client, where);
  deepEqual(endpoints, ["https://e1.example:2379", "https://10.0.0.1:2379"]);
});

const cases: [string, Record<string, string>, string][] = [
  ["no CA", { "ca.crt": "" }, 'its "ca.crt" is missing'],
  ["an invalid certificate", { "tls.crt": "sesame" }, 'its "tls.crt" does not contain a PEM certificate'],
  [
    "a broken certificate",
    { "tls.crt": "-----BEGIN CERTIFICATE-----\nc2VzYW1l\n-----END CERTIFICATE-----\n" },
    'its "tls.crt" does not contain a PEM certificate',
  ],
  ["a key in place of the CA", { "ca.crt": client.keyPem }, 'its "ca.crt" does not contain a PEM certificate'],
  [
    "an invalid key",
    { "tls.key": "sesame" },
    'its "tls.key" does not contain a PEM private key without a password',
  ],
  ["the key of another certificate", { "tls.key": other.keyPem }, 'its "tls.key" does not match its "tls.crt"'],
  ["a key that is too long", { "tls.key": "k".repeat(100_001) }, 'its "tls.key" is too long'],
  [
    "endpoints without TLS",
    { endpoints: "http://e1.example:2379" },
    'its "endpoints" must all be https URLs without a path',
  ],
  [
    "endpoints with a password",
    { endpoints: "https://sesame:sesame@e1.example" },
    'its "endpoints" must all be https URLs without a path',
  ],
  ["no endpoints", { endpoints: " , " }, 'its "endpoints" has 0 URLs; expected 1 to 32'],
];

for (const [what, change, state] of cases) {
  Deno.test(`readEtcdAccess: refuses a Secret with ${what}, and quotes nothing of it`, async () => {
    const kube = secretOf({ ...whole, ...change });
    const error = await readEtcdAccess(kube.client, where).catch((error: unknown) => error);
    ok(error instanceof ApplicationFailure);
    deepEqual([error.type, error.nonRetryable], ["EtcdAccessMissing", true]);
    equal(error.message, `Failed to reach etcd with Secret "ostler-system/etcd": ${state}`);
  });
}

Deno.test("readEtcdAccess: refuses when the Secret does not exist", async () => {
  const message = 'Failed to reach etcd with Secret "ostler-system/etcd": the Secret does not exist';
  await rejects(readEtcdAccess(new FakeKube().client, where), { type: "EtcdAccessMissing", message });
});

Deno.test("certificates: are refused before they are valid and after they have expired", () => {
  const credentials = { ca: whole["ca.crt"], cert: whole["tls.crt"], key: whole["tls.key"] };
  const day = 24 * 3_600_000;
  equal(faultInCertificates(credentials, Date.now()), undefined);
  const late = faultInCertificates(credentials, Date.now() + 400 * day) ?? "";
  ok(/^its "ca\.crt" expired at \d{4}-/.test(late), late);
  const early = faultInCertificates(credentials, Date.now() - day) ?? "";
  ok(/^its "ca\.crt" is not valid before \d{4}-.*$/.test(early), early);
});
