import { deepEqual, rejects } from "node:assert/strict";
import { readReferences } from "../../../../activities/config/read_facts.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

function reader(referenceNamespaces?: string[]): Parameters<typeof readReferences>[0] {
  const kube = new FakeKube();
  const data = { key: Buffer.from("value").toString("base64") };
  const secret = (namespace: string, name: string, type = "Opaque"): void => {
    kube.put("secrets", { metadata: { namespace, name }, type, data });
  };
  secret("clouds", "aws");
  secret("kube-system", "aws");
  secret("kube-system", "ostler-seed");
  secret("kube-system", "admin-token", "kubernetes.io/service-account-token");
  secret("kube-system", "bootstrap-token-aaaaaa", "bootstrap.kubernetes.io/token");
  kube.put("configmaps", { metadata: { namespace: "tenant", name: "regions" }, data: { key: "value" } });
  return { kube: kube.client, environment: {}, ...(referenceNamespaces ? { referenceNamespaces } : {}) };
}

Deno.test("provider references: may point only to namespaces that an administrator lists", async () => {
  const listed = reader(["clouds"]);
  deepEqual(await readReferences(listed, ["secret:clouds/aws/key", "secret:clouds/none/key"]), {
    "secret:clouds/aws/key": "value",
  });
  for (const reference of ["secret:kube-system/aws/key", "configmap:tenant/regions/key"]) {
    await rejects(
      readReferences(listed, [reference]),
      /Failed to read ".*", which the provider spec references: namespace/,
    );
    deepEqual(await readReferences(reader(), [reference]), { [reference]: "value" });
  }
});

Deno.test("provider references: may not point to the namespace of bootstrap secrets unless it is listed", async () => {
  const reference = "secret:cloud-init-settings/other-pool/key";
  await rejects(readReferences(reader(), [reference]), /namespace "cloud-init-settings" is not listed in/);
  deepEqual(await readReferences(reader(["cloud-init-settings"]), [reference]), {});
});

Deno.test("provider references: a service account token is never a provider credential, in any namespace", async () => {
  for (const name of ["ostler-seed", "admin-token", "bootstrap-token-aaaaaa"]) {
    const read = readReferences(reader(["kube-system"]), [`secret:kube-system/${name}/key`]);
    await rejects(read, /which the provider spec references: it is not a credential of a provider/);
  }
});
