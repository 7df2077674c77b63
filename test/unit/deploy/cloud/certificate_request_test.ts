import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { readBootstrapKubeconfig, requestNodeCertificate } from "../../../../deploy/local/cloud/boot/certificate.ts";
import { Pkcs10CertificateRequest } from "@peculiar/x509";

Deno.test("requestNodeCertificate: requests exactly the node's subject with its own P-256 key", async () => {
  const { request, key } = await requestNodeCertificate("w-1");
  const parsed = new Pkcs10CertificateRequest(request);
  assert.equal(parsed.subject, "O=system:nodes, CN=system:node:w-1");
  assert.deepEqual(parsed.extensions, []);
  assert.ok(await parsed.verify());
  const own = createPublicKey(createPrivateKey(key)).export({ type: "spki", format: "der" });
  assert.deepEqual(Buffer.from(parsed.publicKey.rawData), own);
  assert.equal(createPrivateKey(key).asymmetricKeyDetails?.namedCurve, "prime256v1");
});

Deno.test("requestNodeCertificate: creates a new key for each call", async () => {
  const [one, two] = await Promise.all([requestNodeCertificate("w-1"), requestNodeCertificate("w-1")]);
  assert.notEqual(one.key, two.key);
});

function kubeconfig(cluster: Record<string, unknown>, user: Record<string, unknown>): string {
  return JSON.stringify({
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
}

const cluster = { server: "https://a", "certificate-authority-data": "QQ==" };

Deno.test("readBootstrapKubeconfig: accepts a kubeconfig with server, CA and token", () => {
  const config = readBootstrapKubeconfig(kubeconfig(cluster, { token: "t" }));
  assert.equal(config.getCurrentCluster()?.server, "https://a");
});

const refused: Record<string, [text: string, reason: RegExp]> = {
  "text that does not parse": ["a: [t0ken", /: it cannot be parsed$/],
  "plain http": [kubeconfig({ ...cluster, server: "http://a" }, { token: "t" }), /it names no https server/],
  "a kubeconfig without a CA": [kubeconfig({ server: "https://a" }, { token: "t" }), /it has no certificate authority/],
  "a kubeconfig that skips TLS verification": [
    kubeconfig({ ...cluster, "insecure-skip-tls-verify": true }, { token: "t" }),
    /it has no certificate authority/,
  ],
  "a kubeconfig without a token": [kubeconfig(cluster, {}), /it has no token/],
};

for (const [what, [text, reason]] of Object.entries(refused)) {
  Deno.test(`readBootstrapKubeconfig: refuses ${what}`, () => {
    assert.throws(() => readBootstrapKubeconfig(text), reason);
  });
}
