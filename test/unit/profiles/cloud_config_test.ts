import assert from "node:assert/strict";
import { cloudConfig } from "../../../profiles/cloud_config/cloud_config.ts";
import { goYamlScalar } from "../../../profiles/cloud_config/yaml_scalar.ts";
import { ProfileRefused, referencesOf, type RenderFacts } from "../../../profiles/mod.ts";
import { renderFacts } from "../../support/render_facts.ts";
import { refuses } from "./refuses.ts";

interface Given {
  kubelet?: string;
  references?: Record<string, string>;
}

function factsOf(
  cloudProvider: string,
  spec: unknown,
  { kubelet = "1.28.9", references = {} }: Given = {},
): RenderFacts {
  return renderFacts({
    deployment: { kubelet },
    provider: { cloudProvider, cloudProviderSpec: spec },
    secrets: { references },
  });
}

/** Returns the value of one line of a cloud-config. */
function lineOf(text: string, name: string): string | undefined {
  return text.split("\n").find((line) => line.split("=")[0]?.trim() === name)?.replace(/^[^=]*=\s*/, "");
}

Deno.test("cloudConfig: returns an empty text when the kubelet has no in-tree code for a known provider, and refuses an unknown provider", () => {
  const spec = { availabilityZone: "z" };
  for (const kubelet of ["1.29", "1.36.1", "1.29.0+build-1", "2.0.0"]) {
    assert.equal(cloudConfig(factsOf("aws", spec, { kubelet })), "", kubelet);
  }
  for (const kubelet of ["1.28.9", "v1.28", "1.29.0-rc.1", "1.34.0-alpha.1+k"]) {
    assert.match(cloudConfig(factsOf("aws", spec, { kubelet })), /^\[global\]\nZone="z"\n/, kubelet);
  }
  const external = renderFacts({ ...factsOf("aws", spec), settings: { externalCloudProvider: true } });
  assert.equal(cloudConfig(external), "");
  for (const provider of ["hetzner", "anexia", "baremetal", "vmware-cloud-director"]) {
    assert.equal(cloudConfig(factsOf(provider, {})), "", provider);
  }
  for (const provider of ["fake", "external", "toString"]) {
    refuses(() => cloudConfig(factsOf(provider, {})), "CloudConfigInvalid", `"${provider}"`);
    assert.equal(cloudConfig(factsOf(provider, {}, { kubelet: "1.34.0-rc.1" })), "");
  }
  refuses(() => cloudConfig(factsOf("hetzner", {}, { kubelet: "latest" })), "KubeletVersionInvalid", `"latest"`);
  refuses(() => cloudConfig(factsOf("aws", undefined)), "CloudConfigInvalid", "cloudProviderSpec");
});

Deno.test("cloudConfig: uses overwriteCloudConfig unchanged, whatever else is set", () => {
  for (const overwriteCloudConfig of ["mine\n", ""]) {
    const facts = renderFacts({
      deployment: { kubelet: "1.28.0" },
      provider: { cloudProvider: "fake", overwriteCloudConfig },
    });
    assert.equal(cloudConfig(facts), overwriteCloudConfig);
    assert.deepEqual(referencesOf(facts), []);
  }
});

Deno.test("cloudConfig: reads values inline, from Secrets, from ConfigMaps and from the environment", () => {
  const spec = {
    clientID: { value: "literal" },
    clientSecret: { secretKeyRef: { namespace: "n", name: "s", key: "k" }, value: "not this" },
    tenantID: { configMapKeyRef: { namespace: "n", name: "c", key: "k" } },
    subscriptionID: { secretKeyRef: { namespace: "n", name: "gone", key: "k" } },
    // A reference without a key is ignored, so `value` counts; a number is read as text.
    resourceGroup: { secretKeyRef: { namespace: "n", name: "s" }, value: "rg" },
    location: 7,
    vnetName: true,
    subnetName: null,
    assignAvailabilitySet: false,
    availabilitySet: "unused",
  };
  assert.deepEqual(referencesOf(factsOf("azure", spec)).sort(), [
    "configmap:n/c/k",
    "env:AZURE_CLIENT_ID",
    "env:AZURE_CLIENT_SECRET",
    "env:AZURE_SUBSCRIPTION_ID",
    "env:AZURE_TENANT_ID",
    "secret:n/gone/k",
    "secret:n/s/k",
  ]);
  const references = {
    "secret:n/s/k": "<secret>",
    "configmap:n/c/k": "tenant",
    "env:AZURE_SUBSCRIPTION_ID": "from-env",
    "env:AZURE_CLIENT_ID": "not this",
  };
  const written = cloudConfig(factsOf("azure", spec, { references }));
  assert.match(written, /"aadClientSecret":"\\u003csecret\\u003e"/);
  const { cloud, useInstanceMetadata, ...values } = JSON.parse(written);
  assert.deepEqual([cloud, useInstanceMetadata], ["AZUREPUBLICCLOUD", true]);
  assert.deepEqual(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "")), {
    aadClientId: "literal",
    aadClientSecret: "<secret>",
    tenantId: "tenant",
    subscriptionId: "from-env",
    resourceGroup: "rg",
    location: "7",
    vnetName: "true",
  });
});

Deno.test("cloudConfig: throws an error that is retried, and no ProfileRefused, when a referenced Secret is missing", () => {
  const spec = { vpcId: { secretKeyRef: { namespace: "n", name: "s", key: "k" } } };
  assert.throws(() => cloudConfig(factsOf("aws", spec)), (error) => {
    assert.ok(error instanceof Error && !(error instanceof ProfileRefused));
    assert.match(error.message, /"secret:n\/s\/k", referenced by vpcId, does not exist/);
    return true;
  });
});

Deno.test("cloudConfig: reads field names in upper or lower case, as Go does", () => {
  assert.match(cloudConfig(factsOf("aws", { subnetID: "s", VPCID: "v" })), /VPC="v"\nSubnetID="s"\n$/);
});

Deno.test("cloudConfig: reads true and false as Go does, and refuses anything else", () => {
  const gce = (more: object, references = {}): string => {
    const spec = { serviceAccount: btoa('{"project_id":"p"}'), ...more };
    return cloudConfig(factsOf("gce", spec, { references }));
  };
  const pointer = { configMapKeyRef: { namespace: "n", name: "c", key: "k" } };
  assert.equal(lineOf(gce({ multizone: { value: true }, regional: null }), "multizone"), "true");
  assert.equal(lineOf(gce({ multizone: pointer }, { "configmap:n/c/k": "T" }), "multizone"), "true");
  refuses(() => gce({ multizone: "true" }), "CloudConfigInvalid", "multizone must be true or false");
  refuses(() => gce({ multizone: pointer }, { "configmap:n/c/k": "yes" }), "CloudConfigInvalid", "multizone");
  const vsphere = (more: object, references = {}): string | undefined =>
    lineOf(cloudConfig(factsOf("vsphere", { vsphereURL: "v", ...more }, { references })), "insecure-flag");
  assert.equal(vsphere({}, { "env:VSPHERE_ALLOW_INSECURE": "1" }), "true");
  assert.equal(vsphere({ allowInsecure: false }, { "env:VSPHERE_ALLOW_INSECURE": "1" }), "false");
  assert.equal(
    vsphere({ allowInsecure: pointer }, { "configmap:n/c/k": "?", "env:VSPHERE_ALLOW_INSECURE": "t" }),
    "true",
  );
  refuses(() => vsphere({}, { "env:VSPHERE_ALLOW_INSECURE": "?" }), "CloudConfigInvalid", "VSPHERE_ALLOW_INSECURE");
});

Deno.test("cloudConfig: refuses an invalid service account or kubeconfig without quoting its content", () => {
  for (const secret of ["c2VjcmV0", "%secret%", btoa('{"project_id":1}')]) {
    assert.throws(() => cloudConfig(factsOf("gce", { serviceAccount: secret })), (error) => {
      assert.ok(error instanceof ProfileRefused && !error.message.includes(secret), String(error));
      return true;
    });
  }
  const kubeconfig = { auth: { kubeconfig: "kind: secret" } };
  refuses(() => cloudConfig(factsOf("kubevirt", kubeconfig)), "CloudConfigInvalid", "auth.kubeconfig must be");
});

Deno.test("cloudConfig: accepts for kubevirt a referenced kubeconfig in plain text, and in base64", () => {
  const spec = { auth: { kubeconfig: { secretKeyRef: { namespace: "n", name: "s", key: "k" } } } };
  const written = (text: string): string =>
    cloudConfig(factsOf("kubevirt", spec, { references: { "secret:n/s/k": text, "env:POD_NAMESPACE": "1e3" } }));
  const block = 'global:\n    kubeconfig: |\n        kind: Config\n    namespace: "1e3"\n';
  assert.equal(written("kind: Config\n"), block);
  assert.equal(written(btoa("kind: Config\n")), block);
  assert.match(written('{"kind":"Config"}'), /^ {4}kubeconfig: '\{"kind":"Config"\}'$/m);
  const fromEnvironment = factsOf("kubevirt", {}, { references: { "env:KUBEVIRT_KUBECONFIG": "a: b\n" } });
  assert.match(cloudConfig(fromEnvironment), /kubeconfig: \|\n {8}a: b\n {4}namespace: kube-system\n$/);
});

// The output of Go's yaml.v3 v3.0.1 for these values.
Deno.test("goYamlScalar: writes texts as Go's yaml.v3 does", () => {
  const cases: [string, string][] = [
    ["", '""'],
    ["plain text", "plain text"],
    ["yes", '"yes"'],
    ["12_3", '"12_3"'],
    ["0x1F", '"0x1F"'],
    ["1:30", '"1:30"'],
    ["a: b", "'a: b'"],
    ["it's # no", "'it''s # no'"],
    ["tab\t", '"tab\\t"'],
    ["a\nb", "|-\n  a\n  b"],
    ["a\n\nb\n\n", "|+\n  a\n\n  b\n"],
    [" a\nb\n", "|4\n   a\n  b"],
    ["a \nb\n", '"a \\nb\\n"'],
    ["a\r\nb", '"a\\r\\nb"'],
    ["é\n", "|\n  é"],
    ["\u{1f600}\n", '"\\U0001F600\\n"'],
  ];
  for (const [text, written] of cases) assert.equal(goYamlScalar(text, "  "), written);
});

Deno.test("cloudConfig: for openstack, prefers application credentials to a password, and omits two lines for a pre-release of the kubelet", () => {
  const references = { "env:OS_TENANT_NAME": "tenant", "env:OS_REGION_NAME": "region" };
  const byPassword = cloudConfig(factsOf("openstack", { username: "u", nodeVolumeAttachLimit: 0 }, { references }));
  assert.deepEqual(["username", "tenant-name", "region"].map((name) => lineOf(byPassword, name)), [
    '"u"',
    '"tenant"',
    '"region"',
  ]);
  assert.equal(lineOf(byPassword, "node-volume-attach-limit"), undefined);
  const byCredential = cloudConfig(factsOf("openstack", { username: "u", applicationCredentialID: "id" }));
  assert.equal(lineOf(byCredential, "application-credential-id"), '"id"');
  assert.equal(lineOf(byCredential, "username"), undefined);
  assert.equal(lineOf(byCredential, "domain-name"), undefined);
  const early = cloudConfig(factsOf("openstack", {}, { kubelet: "1.29.0-rc.1" }));
  assert.match(early, /\n\[LoadBalancer\]\n\n\[BlockStorage\]\ntrust-device-path = false\n/);
  refuses(() => cloudConfig(factsOf("openstack", { nodeVolumeAttachLimit: "5" })), "CloudConfigInvalid", "nodeVolume");
});

Deno.test("cloudConfig: reads host and port from each form of vsphereURL", () => {
  const of = (vsphereURL: string): (string | undefined)[] => {
    const text = cloudConfig(factsOf("vsphere", { vsphereURL, datacenter: "d", datastoreCluster: "c" }));
    assert.equal(lineOf(text, "folder"), '"/d/vm"');
    assert.equal(lineOf(text, "default-datastore"), '"c"');
    return ["server", "port"].map((name) => lineOf(text, name));
  };
  assert.deepEqual(of("https://v.example:8443/sdk"), ['"v.example"', '"8443"']);
  assert.deepEqual(of("v.example"), ['"v.example"', '""']);
  assert.deepEqual(of("https://[2001:db8::1]:443"), ['"2001:db8::1"', '"443"']);
  refuses(() => of("https://v.example:port"), "CloudConfigInvalid", "vsphereURL");
});
