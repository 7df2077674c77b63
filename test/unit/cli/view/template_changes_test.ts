import assert from "node:assert/strict";
import { changesPatch, templateChanges } from "../../../../cli/view/template_changes.ts";

function template(cloudProviderSpec: object, more: object = {}): object {
  return { spec: { versions: { kubelet: "1.36.1" }, providerSpec: { value: { cloudProviderSpec, ...more } } } };
}

const at = (path: string): string => `spec.providerSpec.value.cloudProviderSpec.${path}`;

Deno.test("templateChanges: names each changed, added or removed leaf field, and no other field", () => {
  const changes = templateChanges(
    template({ image: "a:1", disks: [{ size: 10 }, { size: 20 }], zone: "z" }),
    template({ image: "a:2", disks: [{ size: 10 }], zone: "z", tags: { "team/name": "x" } }),
  );
  assert.deepEqual(changes, [
    { path: at("disks[1].size"), before: "20" },
    { path: at("image"), before: "a:1", after: "a:2" },
    { path: at('tags["team/name"]'), after: "x" },
  ]);
});

Deno.test("templateChanges: hides possible credentials, by path or by content", () => {
  const secrets = {
    ...{ token: "t0p", accessKeyId: "AKIA", secretAccessKey: "s3cr3t", password: { value: "pw" }, username: "root" },
    ...{ auth: { kubeconfig: { value: "kc" } }, serviceAccount: "json", userData: "ud", url: "https://me:pw@host" },
    ...{ proxy: "http://me:p/w@host:3128", mirror: "https://t0k@host", img: "docker://me:p/w@host/os@sha256:ab" },
    ...{
      note: "-----BEGIN PRIVATE KEY-----",
      jwt: "eyJabc.def",
      long: `eyJ${"a".repeat(5_000)}.b`,
      "public.auth": { password: "pw" },
    },
  };
  const changes = templateChanges(template({}), template(secrets));
  assert.equal(changes.length, 16);
  for (const { path, after } of changes) assert.equal(after, "<hidden>", path);
});

Deno.test("templateChanges: shows public keys, taints, and references to Secrets", () => {
  const ref = { secretKeyRef: { namespace: "ns", name: "cloud", key: "token" } };
  const after = template({ token: ref }, { sshPublicKeys: ["ssh-ed25519 AAAA"] });
  const changes = templateChanges(template({}), {
    spec: { ...(after as { spec: object }).spec, taints: [{ key: "gpu" }] },
  });
  assert.deepEqual(changes.map(({ after }) => after), [
    ...["token", "cloud", "ns"],
    ...["ssh-ed25519 AAAA", "gpu"],
  ]);
});

Deno.test("templateChanges: shows images by digest, which are no credentials", () => {
  for (const image of ["docker://os@sha256:ab", "docker://host:5000/os@sha256:ab", "host:5000/os:1@sha512:ab"]) {
    assert.equal(templateChanges(template({}), template({ image }))[0]?.after, image);
  }
});

Deno.test("templateChanges: reads long texts of hostile templates fast", () => {
  const began = performance.now();
  for (const part of ["://:", "eyJ"]) templateChanges(template({}), template({ note: part.repeat(50_000) }));
  assert.ok(performance.now() - began < 4_000);
});

Deno.test("templateChanges: ignores what machine-controller adds to its MachineSets", () => {
  const before = {
    metadata: { creationTimestamp: "2026", labels: { a: "b", "machine-template-hash": "1" } },
    spec: {},
  };
  assert.deepEqual(templateChanges(before, { metadata: { labels: { a: "b" } }, spec: {} }), []);
});

Deno.test("changesPatch: returns a unified diff, and nothing without changes", () => {
  const changes = [{ path: "a", before: "1", after: "2" }, { path: "b", after: "3" }, { path: "c", before: "4" }];
  assert.equal(
    changesPatch(changes, "revision 1", "revision 2"),
    "--- revision 1\n+++ revision 2\n-a: 1\n+a: 2\n+b: 3\n-c: 4\n",
  );
  assert.equal(changesPatch([], "revision 1", "revision 2"), "");
});
