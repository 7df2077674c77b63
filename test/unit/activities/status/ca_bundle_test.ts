import { deepEqual, equal } from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { casIn, trustedCas } from "../../../../activities/status/ca_bundle.ts";
import { CertificateAuthority } from "../../../../deploy/local/stack/certificate_authority.ts";

async function authority(): Promise<string> {
  return (await (await CertificateAuthority.create("kubernetes")).keyed()).certificatePem;
}

Deno.test("casIn: returns the first 16 digits of each certificate's SHA-256 fingerprint, whatever the order and the text around", async () => {
  const [old, next] = [await authority(), await authority()];
  const shown = [old, next].map((pem) => new X509Certificate(pem).fingerprint256.replaceAll(":", "").toLowerCase());
  const expected = shown.map((fingerprint) => fingerprint.slice(0, 16)).sort();
  deepEqual(casIn(old + next), expected);
  deepEqual(casIn(`# new\r\n${next.replaceAll("\n", "\r\n")}\n\n# old\n${old}\n${next}`), expected);
});

Deno.test("casIn: returns a bounded number of fingerprints, and none for a text without certificates", () => {
  const many = Array.from({ length: 17 }, (_, nth) => {
    return `-----BEGIN CERTIFICATE-----\n${btoa(`number ${nth}`)}\n-----END CERTIFICATE-----\n`;
  });
  equal(casIn(many.slice(1).join("")).length, 16);
  equal(casIn(many.join("")).length, 1);
  deepEqual(casIn(""), []);
});

Deno.test("trustedCas: lists separately a CA that is only in the kubeconfig or only in the files", async () => {
  const [old, next] = [await authority(), await authority()];
  const caPem = old + next;
  deepEqual(trustedCas({ cluster: { caPem }, settings: { kubernetesCaBundle: "" } }), { cas: casIn(caPem) });
  deepEqual(trustedCas({ cluster: { caPem }, settings: { kubernetesCaBundle: next } }), {
    ...{ cas: casIn(next), partly: casIn(old) },
  });
});
