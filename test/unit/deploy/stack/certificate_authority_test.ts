import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { CertificateAuthority, type KeyedCertificate } from "../../../../deploy/local/stack/certificate_authority.ts";
import { createPki } from "../../../../deploy/local/stack/pki.ts";
import { scratchDirectory } from "../../../support/scratch_directory.ts";
import { ExtendedKeyUsage, ExtendedKeyUsageExtension, X509Certificate as ParsedCertificate } from "@peculiar/x509";

Deno.test("CertificateAuthority: issues certificates that no other authority validates", async () => {
  const [ours, other] = await Promise.all([CertificateAuthority.create("ours"), CertificateAuthority.create("ours")]);
  const issued = await ours.issue({ commonName: "web", use: "server", dnsNames: ["localhost"] });
  const certificate = new X509Certificate(issued.certificatePem);
  assert.ok(certificate.verify(new X509Certificate(ours.certificatePem).publicKey));
  assert.ok(!certificate.verify(new X509Certificate(other.certificatePem).publicKey));
  assert.ok(certificate.checkPrivateKey(createPrivateKey(issued.keyPem)));
  assert.equal(certificate.ca, false);
});

Deno.test("CertificateAuthority: writes names, groups and usages into the certificate fields that Kubernetes reads", async () => {
  const authority = await CertificateAuthority.create("kubernetes");
  const admin = await authority.issue({ commonName: "admin", organization: "system:masters", use: "client" });
  const server = await authority.issue({
    commonName: "kube-apiserver",
    use: "server",
    dnsNames: ["localhost"],
    ipAddresses: ["127.0.0.1"],
  });
  const [adminCertificate, serverCertificate] = [admin, server].map((one) => new X509Certificate(one.certificatePem));
  assert.deepEqual(adminCertificate?.subject.split("\n").sort(), ["CN=admin", "O=system:masters"]);
  assert.deepEqual(usagesOf(admin), [ExtendedKeyUsage.clientAuth]);
  assert.deepEqual(usagesOf(server), [ExtendedKeyUsage.serverAuth]);
  assert.equal(serverCertificate?.checkIP("127.0.0.1"), "127.0.0.1");
  assert.equal(serverCertificate?.checkHost("localhost"), "localhost");
  assert.equal(serverCertificate?.checkHost("elsewhere"), undefined);
});

Deno.test("CertificateAuthority: has a CA certificate that is valid now", async () => {
  const authority = await CertificateAuthority.create("kubernetes");
  const certificate = new X509Certificate(authority.certificatePem);
  assert.equal(certificate.ca, true);
  assert.ok(new Date(certificate.validFrom).getTime() < Date.now());
  assert.ok(new Date(certificate.validTo).getTime() > Date.now() + 300 * 24 * 3_600_000);
});

Deno.test("createPki: separates the authority of etcd from that of the cluster", async () => {
  await using scratch = await scratchDirectory();
  const pki = await createPki(scratch.path);
  const etcdAuthority = new X509Certificate(pki.etcdAuthority.certificatePem);
  assert.ok(new X509Certificate(pki.apiServerEtcdClient.certificatePem).verify(etcdAuthority.publicKey));
  assert.ok(!new X509Certificate(pki.admin.certificatePem).verify(etcdAuthority.publicKey));
});

Deno.test("createPki: allows only the owner to read private keys", async () => {
  await using scratch = await scratchDirectory();
  const pki = await createPki(scratch.path);
  const keys = (await readdir(scratch.path)).filter((name) => name.endsWith(".key"));
  assert.ok(keys.length >= 9);
  for (const name of keys) assert.equal((await stat(join(scratch.path, name))).mode & 0o777, 0o600, name);
  const serviceAccountKey = createPrivateKey(await readFile(pki.serviceAccountKeyPath, "utf8"));
  assert.equal(serviceAccountKey.asymmetricKeyType, "rsa");
});

function usagesOf({ certificatePem }: KeyedCertificate): unknown[] {
  return [...(new ParsedCertificate(certificatePem).getExtension(ExtendedKeyUsageExtension)?.usages ?? [])];
}
