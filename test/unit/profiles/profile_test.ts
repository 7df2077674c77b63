import assert from "node:assert/strict";
import {
  checkProfileFits,
  normaliseKubeletVersion,
  parseKubeletAnnotations,
  parseProfile,
  parseProviderConfig,
  supportedKubeletVersion,
  supportedMinors,
} from "../../../profiles/mod.ts";
import { trialsOf } from "../../../profiles/trial/trial_facts.ts";
import { refuses } from "./refuses.ts";

const spec = {
  osName: "ubuntu",
  osVersion: "24.04",
  version: "v1.0.0",
  templating: "eta",
  supportedCloudProviders: [{ name: "aws", spec: { anything: 1 } }],
  bootstrapConfig: {},
  provisioningConfig: { files: [{ path: "/a", content: { inline: { data: "x" } } }] },
};

Deno.test("parseProfile: adds defaults as OSM's schema does", () => {
  const { templating: _, ...goSpec } = spec;
  const profile = parseProfile(goSpec);
  assert.equal(profile.templating, "go");
  assert.equal(profile.provisioningUtility, "cloud-init");
  assert.equal(profile.provisioningConfig.files?.[0]?.permissions, 644);
});

Deno.test("parseProfile: names an invalid field", () => {
  const files = [{ path: "/a", content: {} }];
  const cases: [object, string][] = [
    [{ ...spec, osName: "plan9" }, "osName: "],
    [{ ...spec, version: "xxv1.0.0" }, "version: "],
    [{ ...spec, extra: 1 }, "extra"],
    [{ ...spec, provisioningConfig: { files } }, "provisioningConfig.files.0.content.inline: "],
    [
      { ...spec, provisioningConfig: { files: [{ ...spec.provisioningConfig.files[0], permissions: 888 }] } },
      "permissions: ",
    ],
    [
      { ...spec, provisioningConfig: { files: [{ path: "a", content: { inline: { data: "" } } }] } },
      "path: must be an absolute path",
    ],
    [{ ...spec, supportedCloudProviders: [{ name: "" }] }, "supportedCloudProviders.0.name: "],
  ];
  for (const [wrong, says] of cases) refuses(() => parseProfile(wrong), "ProfileInvalid", says);
  refuses(() => parseProfile(undefined), "ProfileInvalid", "spec: ");
});

Deno.test("checkProfileFits: refuses a MachineDeployment with another operating system, provider or provisioning utility", () => {
  const fits = (more: object, provider = "aws", operatingSystemSpec?: unknown): () => void => () => {
    const { osName: operatingSystem } = { ...spec, ...more };
    checkProfileFits(parseProfile({ ...spec, ...more }), { operatingSystem, provider, operatingSystemSpec });
  };
  fits({})();
  fits({ osName: "flatcar", provisioningUtility: "ignition" })();
  fits({ osName: "flatcar" }, "aws", { provisioningUtility: "cloud-init" })();
  const other = (): void =>
    checkProfileFits(parseProfile(spec), { operatingSystem: "rhel", provider: "aws", operatingSystemSpec: {} });
  refuses(other, "OperatingSystemMismatch", `"ubuntu"`, `"rhel"`);
  refuses(fits({}, "gce"), "ProviderUnsupported", `"gce"`, "aws");
  refuses(fits({ provisioningUtility: "ignition" }), "UtilityMismatch", `"ignition"`, `"cloud-init"`);
  refuses(fits({ osName: "flatcar" }), "UtilityMismatch", `"ignition"`, `"cloud-init"`);
});

Deno.test("normaliseKubeletVersion: returns three parts with a v", () => {
  const cases = {
    "1.36.1": "v1.36.1",
    "v1.36.1": "v1.36.1",
    "1.36": "v1.36.0",
    "v1.33": "v1.33.0",
    " 1.34.2 ": "v1.34.2",
  };
  for (const [text, version] of Object.entries(cases)) assert.equal(normaliseKubeletVersion(text), version);
  assert.equal(normaliseKubeletVersion("1.35.0-rc.1"), "v1.35.0-rc.1");
  assert.equal(normaliseKubeletVersion("1.35.3+k1"), "v1.35.3+k1");
});

Deno.test("supportedKubeletVersion: refuses versions that Ostler's profiles do not support, and names the supported ones", () => {
  assert.equal(supportedKubeletVersion("1.36.0-rc.1"), "v1.36.0-rc.1");
  assert.equal(supportedKubeletVersion("1.30.14"), "v1.30.14");
  for (const text of ["1", "1.29.15", "1.37.0", "2.36.0"]) {
    refuses(() => supportedKubeletVersion(text), "KubeletVersionInvalid", `"${text}"`, "1.30 to 1.36");
  }
});

Deno.test("normaliseKubeletVersion: refuses an invalid version", () => {
  for (const text of ["", "latest", "1.36.1.2", "1.36.x", "v1.36.1; reboot", "1.36-", "1.36.0-01", "1.36.0+a..b"]) {
    refuses(() => normaliseKubeletVersion(text), "KubeletVersionInvalid", `"${text}"`);
  }
});

Deno.test("fault P2: Ostler's profiles support kubelets three minors older than the oldest API server", async () => {
  const chart = await Deno.readTextFile(new URL("../../../deploy/chart/Chart.yaml", import.meta.url));
  const [, oldest] = /^kubeVersion: ">=1\.(\d+)\.0/m.exec(chart) ?? [];
  assert.equal(supportedMinors[0], Number(oldest) - 3);
  assert.deepEqual(supportedMinors, supportedMinors.map((_, nth) => Number(supportedMinors[0]) + nth));
});

const prefix = "v1.kubelet-config.machine-controller.kubermatic.io/";

Deno.test("parseKubeletAnnotations: reads every annotation of OSM", () => {
  const given = {
    SystemReserved: "cpu=200m, memory=1Gi",
    KubeReserved: "ephemeral-storage=1Gi",
    EvictionHard: "memory.available<100Mi,nodefs.available<10%",
    ContainerLogMaxSize: "50Mi",
    ContainerLogMaxFiles: "3",
    MaxPods: "220",
    ImageGCHighThresholdPercent: "70",
    ImageGCLowThresholdPercent: "60",
    ImageMinimumGCAge: "5m",
    ImageMaximumGCAge: "36h",
    SomethingElse: "kept for others",
  };
  const annotations = Object.fromEntries(Object.entries(given).map(([key, value]) => [prefix + key, value]));
  assert.deepEqual(parseKubeletAnnotations({ ...annotations, other: "x" }), {
    systemReserved: { cpu: "200m", memory: "1Gi" },
    kubeReserved: { "ephemeral-storage": "1Gi" },
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "10%" },
    containerLogMaxSize: "50Mi",
    containerLogMaxFiles: 3,
    maxPods: 220,
    imageGCHighThresholdPercent: 70,
    imageGCLowThresholdPercent: 60,
    imageMinimumGCAge: "5m0s",
    imageMaximumGCAge: "36h0m0s",
  });
  assert.deepEqual(parseKubeletAnnotations(undefined), {});
});

Deno.test("parseKubeletAnnotations: refuses invalid values, naming annotation and value", () => {
  const bad = {
    SystemReserved: ["cpu", "cpu=lots", "=1", ",", "cpu=1,memory"],
    EvictionHard: ["memory.available=1Gi", "memory.available<120%", "x<\n"],
    ContainerLogMaxSize: ["big", ""],
    ContainerLogMaxFiles: ["abc", "1", "-3", "2.5"],
    MaxPods: ["0", "99999999999", "ten"],
    ImageGCHighThresholdPercent: ["101", "5%"],
    ImageMinimumGCAge: ["5", "-5m", "soon", "5d"],
  };
  for (const [key, values] of Object.entries(bad)) {
    for (const value of values) {
      const annotations = { [prefix + key]: value };
      refuses(() => parseKubeletAnnotations(annotations), "KubeletSettingsInvalid", prefix + key, `"${value}"`);
    }
  }
  const crossed = { [`${prefix}ImageGCLowThresholdPercent`]: "90" };
  refuses(() => parseKubeletAnnotations(crossed), "KubeletSettingsInvalid", "90", "85");
});

Deno.test("parseKubeletAnnotations: accepts and refuses quantities and ages as the kubelet does", () => {
  const given = {
    SystemReserved: ["cpu=.5", "memory=1E9", "memory=2.Gi", "cpu=100000u"],
    EvictionHard: ["memory.available<1e+8", "nodefs.available<0%"],
    ContainerLogMaxSize: ["10M", "1.5G", "1e7", "0"],
    ImageMaximumGCAge: ["121s", "0s"],
  };
  const bad = {
    SystemReserved: ["memory=200K", "memory=1e", "cpu=.", "cpu=1mi"],
    EvictionHard: ["memory.available<100K", "memory.available<0", "memory.available<0.0Mi"],
    ContainerLogMaxSize: ["100K", "1.5Gi", "0.5", "100m"],
  };
  const read = (key: string, value: string): object => parseKubeletAnnotations({ [prefix + key]: value });
  for (const [key, values] of Object.entries(given)) for (const value of values) read(key, value);
  for (const [key, values] of Object.entries(bad)) {
    for (const value of values) refuses(() => read(key, value), "KubeletSettingsInvalid", prefix + key, `"${value}"`);
  }
  refuses(() => read("ImageMaximumGCAge", "2m"), "KubeletSettingsInvalid", "2m0s");
  const unset = { [`${prefix}ImageMinimumGCAge`]: "0s", [`${prefix}ImageMaximumGCAge`]: "1m" };
  refuses(() => parseKubeletAnnotations(unset), "KubeletSettingsInvalid", "1m0s", "2m0s");
});

Deno.test("parseProviderConfig: finds fields in any case, and takes null as not set, as machine-controller does", () => {
  const network = { CIDR: "192.0.2.5/24", gateway: null, DNS: { Servers: ["192.0.2.1"] }, ipFamily: null };
  const value = { CloudProvider: "aws", operatingsystem: "flatcar", caPublicKey: null, network };
  assert.deepEqual(parseProviderConfig(value, "fleet/pool"), {
    cloudProvider: "aws",
    operatingSystem: "flatcar",
    network: { cidr: "192.0.2.5/24", dns: { servers: ["192.0.2.1"] } },
  });
  const unknown = { cloudProvider: "aws", operatingSystem: "flatcar", colour: null };
  refuses(() => parseProviderConfig(unknown, "fleet/pool"), "ProviderConfigInvalid", '"colour"');
});

Deno.test("fault P1: a profile that names an unknown provider is valid, and only a pool on that provider is refused", () => {
  const profile = parseProfile({ ...spec, supportedCloudProviders: [{ name: "aws" }, { name: "equinixmetal" }] });
  const on = (provider: string): void => checkProfileFits(profile, { operatingSystem: profile.osName, provider });
  on("aws");
  refuses(() => on("equinixmetal"), "ProviderUnsupported", '"equinixmetal"');
  assert.throws(() => on("equinixmetal"), { message: /: supported providers are aws$/ });
  assert.deepEqual([...new Set(trialsOf(profile).map(({ provider }) => provider))], ["aws"]);
});

Deno.test("fault P3: an empty kubelet annotation for pairs, such as SystemReserved, counts as not set", () => {
  for (const key of ["SystemReserved", "KubeReserved", "EvictionHard"]) {
    for (const value of ["", " "]) assert.deepEqual(parseKubeletAnnotations({ [prefix + key]: value }), {});
  }
});

Deno.test("parseProfile: refuses an oversized profile before it reads any of it", () => {
  const slow = { description: "", pattern: "(a|a)*b", default: "a".repeat(40) };
  const parameters = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`p${n}`, slow]));
  const started = performance.now();
  assert.throws(() => parseProfile({ parameters }), { message: /parameters: must have at most 50 entries$/ });
  assert.throws(() => parseProfile({ parameters: "x".repeat(1_600_000) }), {
    message: "Invalid profile: spec: must have at most 1572864 bytes",
  });
  const knot: Record<string, unknown> = { osName: "ubuntu" };
  knot["self"] = [knot, knot];
  assert.throws(() => parseProfile(knot), { message: "Invalid profile: spec: must have at most 1572864 bytes" });
  assert.ok(performance.now() - started < 4_000, "Expected no evaluation of patterns");
});
