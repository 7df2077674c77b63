import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { readReferences } from "../../../../activities/config/read_facts.ts";
import { ProviderValues, withheld } from "../../../../profiles/cloud_config/provider_values.ts";
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
  return {
    kube: kube.client,
    environment: {},
    from: "kube-system",
    ...(referenceNamespaces ? { referenceNamespaces } : {}),
  };
}

Deno.test("provider references: can name only Secrets and ConfigMaps of namespaces that an administrator lists", async () => {
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

Deno.test("provider references: cannot name a Secret of the namespace of bootstrap secrets, unless the namespace is listed", async () => {
  const reference = "secret:cloud-init-settings/other-pool/key";
  await rejects(readReferences(reader(), [reference]), /namespace "cloud-init-settings" is not listed in/);
  deepEqual(await readReferences(reader(["cloud-init-settings"]), [reference]), {});
});

Deno.test("provider references: a Secret with a Kubernetes token or Ostler's seed is never a provider credential, even in a listed namespace", async () => {
  for (const name of ["ostler-seed", "admin-token", "bootstrap-token-aaaaaa"]) {
    const read = readReferences(reader(["kube-system"]), [`secret:kube-system/${name}/key`]);
    await rejects(
      read,
      /which the provider spec references: the Secret contains a Kubernetes token or Ostler.s seed;/,
    );
  }
});

Deno.test("fault S7: only MachineDeployments of kube-system may reference Secrets of kube-system", async () => {
  for (const listed of [undefined, ["kube-system", "clouds"]]) {
    const tenant = { ...reader(listed), from: "tenant" };
    await rejects(readReferences(tenant, ["secret:kube-system/aws/key"]), /only MachineDeployments of kube-system may/);
    deepEqual(await readReferences(tenant, ["secret:clouds/aws/key"]), { "secret:clouds/aws/key": "value" });
    const reference = "secret:kube-system/aws/key";
    deepEqual(await readReferences(reader(listed), [reference]), { [reference]: "value" });
  }
});

Deno.test("fault S7: environment variables of Ostler's worker, except POD_NAMESPACE, are used only with setting provider-environment", async () => {
  const environment = { AZURE_CLIENT_SECRET: "secret", POD_NAMESPACE: "kube-system" };
  const references = ["env:AZURE_CLIENT_SECRET", "env:AZURE_CLIENT_ID", "env:POD_NAMESPACE"];
  const found = await readReferences({ ...reader(), environment }, references);
  deepEqual(found, { [withheld("AZURE_CLIENT_SECRET")]: "", "env:POD_NAMESPACE": "kube-system" });
  deepEqual(await readReferences({ ...reader(), environment, usesEnvironment: true }, references), {
    "env:AZURE_CLIENT_SECRET": "secret",
    "env:POD_NAMESPACE": "kube-system",
  });
});

Deno.test("fault S7: a field of the provider spec without a value is refused if an environment variable that may not be used has the value", () => {
  const needed = { clientSecret: "AZURE_CLIENT_SECRET" };
  const found = { [withheld("AZURE_CLIENT_SECRET")]: "" };
  const valueOf = (spec: object): string => new ProviderValues(spec, needed, found).text("clientSecret");
  equal(valueOf({ clientSecret: "own" }), "own");
  throws(() => valueOf({}), /variable AZURE_CLIENT_SECRET is not set, .* only with setting provider-environment/);
});
