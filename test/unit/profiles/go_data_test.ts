import assert from "node:assert/strict";
import { goData } from "../../../profiles/go_data.ts";
import { namesOf } from "../../../profiles/mod.ts";
import { type FactOverrides, renderFacts, testCa } from "../../support/render_facts.ts";
import { refuses } from "./refuses.ts";

const prefix = "v1.kubelet-config.machine-controller.kubermatic.io/";

function dataOf(overrides: FactOverrides): Record<string, unknown> {
  return goData(renderFacts(overrides));
}

function tuned(settings: Record<string, string>): Record<string, unknown> {
  const annotations = Object.fromEntries(Object.entries(settings).map(([key, value]) => [prefix + key, value]));
  return dataOf({ deployment: { annotations } });
}

// These are the names that Operating System Manager gives to Go templates.
Deno.test("goData: has every field that Go templates may name, and no other", () => {
  const names = [
    "KubeVersion ClusterDNSIPs KubernetesCACert HostCACert CloudConfig CloudProviderName ContainerRuntime",
    "ContainerRuntimeConfig ContainerRuntimeAuthConfig InTreeCCMAvailable ExternalCloudProvider InitialTaints HTTPProxy",
    "NoProxy KubeletFeatureGates NetworkConfig NetworkIPFamily PauseImage BootstrapKubeconfig Token ServerURL SecretName",
    "BootstrapKubeconfigSecretName KubeReserved SystemReserved EvictionHard MaxPods ImageGCHighThresholdPercent",
    "ImageGCLowThresholdPercent ContainerLogMaxSize ContainerLogMaxFiles ImageMinimumGCAge ImageMaximumGCAge",
    "AmazonLinuxConfig UbuntuConfig RockyLinuxConfig FlatcarConfig RhelConfig",
    "KubeletConfiguration KubeletSystemdUnit CNIVersion ServerAddress RHSubscription",
  ].join(" ").split(" ");
  assert.deepEqual(Object.keys(dataOf({})).sort(), names.sort());
});

Deno.test("goData: has the facts of cluster and pool", () => {
  const { secretName, data } = { secretName: namesOf({ namespace: "kube-system", name: "pool" }), data: dataOf({}) };
  assert.equal(data["KubernetesCACert"], testCa);
  assert.equal(data["ServerURL"], "https://192.0.2.1:6443");
  assert.equal(data["SecretName"], secretName.provisioning);
  assert.equal(data["BootstrapKubeconfigSecretName"], secretName.kubeletBootstrap);
  assert.deepEqual([data["HTTPProxy"], data["NetworkConfig"], data["RHSubscription"]], [null, null, null]);
  const given = dataOf({
    settings: {
      kubernetesCaBundle: "given",
      overrideBootstrapKubeletApiserver: "https://o.example",
      nodeHttpProxy: "http://p.example",
      nodeNoProxy: "",
    },
  });
  assert.equal(given["KubernetesCACert"], "given");
  assert.equal(given["ServerURL"], "https://o.example");
  assert.deepEqual([given["HTTPProxy"], given["NoProxy"]], ["http://p.example", null]);
});

Deno.test("goData: sets InTreeCCMAvailable only for some providers, and never with an external cloud provider", () => {
  for (const [cloudProvider, isInTree] of Object.entries({ aws: true, gce: true, openstack: false, hetzner: false })) {
    assert.equal(dataOf({ provider: { cloudProvider } })["InTreeCCMAvailable"], isInTree, cloudProvider);
    const external = dataOf({ provider: { cloudProvider }, settings: { externalCloudProvider: true } });
    assert.deepEqual([external["InTreeCCMAvailable"], external["ExternalCloudProvider"]], [false, true]);
  }
});

Deno.test("goData: gives a kubelet version three parts and keeps the suffix", () => {
  const versions = {
    "1.33": "v1.33.0",
    "v1.28.9": "v1.28.9",
    "1": "v1.0.0",
    "1.34.0-beta.1+b-5": "v1.34.0-beta.1+b-5",
  };
  for (const [kubelet, version] of Object.entries(versions)) {
    assert.equal(dataOf({ deployment: { kubelet } })["KubeVersion"], version);
  }
  for (const kubelet of ["latest", "", "1.33.", "1.33.0-01", "1.33.0-a..b", "1.33.0+"]) {
    refuses(() => dataOf({ deployment: { kubelet } }), "KubeletVersionInvalid", `"${kubelet}"`);
  }
});

Deno.test("goData: passes the network on unchanged, and does not validate ipFamily", () => {
  const network = { cidr: "c", gateway: "g", dns: { servers: ["s"] }, ipFamily: "IPv5" };
  const data = dataOf({ provider: { network } });
  assert.deepEqual(data["NetworkConfig"], { CIDR: "c", Gateway: "g", DNS: { Servers: ["s"] }, IPFamily: "IPv5" });
  assert.equal(data["NetworkIPFamily"], "IPv5");
  const empty = dataOf({ provider: { network: {} } });
  assert.deepEqual(empty["NetworkConfig"], { CIDR: "", Gateway: "", DNS: { Servers: null }, IPFamily: "" });
});

Deno.test("goData: reads kubelet annotations as leniently as Operating System Manager", () => {
  const data = tuned({
    SystemReserved: "cpu=30m, memory=x=y",
    KubeReserved: "",
    EvictionHard: "nodelimiter,a<b<c,<d",
    ContainerLogMaxSize: " 300Mi",
    ContainerLogMaxFiles: "",
    MaxPods: "+0150",
    ImageGCHighThresholdPercent: "2147483647",
    ImageGCLowThresholdPercent: "-2147483648",
    ImageMinimumGCAge: "-1.5h.5s",
    Other: "left alone",
  });
  assert.deepEqual(data["SystemReserved"], { cpu: "30m", " memory": "x=y" });
  assert.deepEqual(data["KubeReserved"], {});
  assert.deepEqual(data["EvictionHard"], { a: "b<c", "": "d" });
  assert.deepEqual([data["ContainerLogMaxSize"], data["ContainerLogMaxFiles"]], [" 300Mi", ""]);
  assert.equal(data["MaxPods"], 150);
  assert.equal(data["ImageGCHighThresholdPercent"], 2147483647);
  assert.equal(data["ImageGCLowThresholdPercent"], -2147483648);
  assert.deepEqual([data["ImageMinimumGCAge"], data["ImageMaximumGCAge"]], ["-1.5h.5s", null]);
});

Deno.test("goData: refuses a kubelet annotation with an invalid number or duration, and names the annotation", () => {
  const bad = {
    MaxPods: ["many", "", "2147483648", "1.5", "1e3", " 1", "0x10"],
    ImageGCLowThresholdPercent: ["-2147483649", "80%"],
    ContainerLogMaxFiles: ["abc", "3 files", "2.5"],
    ImageMinimumGCAge: ["5", "5 minutes", "", "1d", "300000h3000000h"],
  };
  for (const [key, values] of Object.entries(bad)) {
    for (const value of values) {
      refuses(() => tuned({ [key]: value }), "KubeletSettingsInvalid", prefix + key, `"${value}"`);
    }
  }
});

Deno.test("goData: has only the settings of the machine's operating system", () => {
  const operatingSystemSpec = {
    distUpgradeOnBoot: true,
    DisableLocksmithd: true,
    unknown: 1,
    provisioningutility: "x",
  };
  const flatcar = dataOf({ provider: { operatingSystem: "flatcar", operatingSystemSpec } });
  assert.deepEqual(flatcar["FlatcarConfig"], {
    DisableAutoUpdate: false,
    DisableLocksmithD: true,
    DisableUpdateEngine: false,
    ProvisioningUtility: "x",
  });
  assert.deepEqual(flatcar["UbuntuConfig"], { DistUpgradeOnBoot: false });
  for (const spec of [undefined, null, {}]) {
    const ubuntu = dataOf({ provider: { operatingSystem: "ubuntu", operatingSystemSpec: spec } });
    assert.deepEqual(ubuntu["UbuntuConfig"], { DistUpgradeOnBoot: false });
  }
});

Deno.test("goData: refuses operating system settings of a wrong type, and does not repeat their values in the error", () => {
  const of = (operatingSystemSpec: unknown) => (): unknown =>
    dataOf({ provider: { operatingSystem: "rhel", operatingSystemSpec } });
  refuses(of({ distUpgradeOnBoot: "true" }), "ProviderConfigInvalid", "DistUpgradeOnBoot must be true or false");
  refuses(of({ rhelActivationKey: 5 }), "ProviderConfigInvalid", "RHELActivationKey must be a string");
  refuses(of("text"), "ProviderConfigInvalid", "operatingSystemSpec must be an object");
});
