import { deepEqual, doesNotMatch, equal, match, notEqual, rejects } from "node:assert/strict";
import { renderConfig } from "../../../support/rendered.ts";
import { closeTemplateEngines } from "../../../../profiles/mod.ts";
import { pool, providerConfig } from "../../../support/machine_objects.ts";
import type { DeploymentOverrides } from "../../../support/machine_objects.ts";
import { publisher, publishingKube, putProfile } from "../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

Deno.test("renderConfig: returns names and sizes, the same for the same input", async () => {
  const kube = await publishingKube();
  const first = await renderConfig(publisher(kube), pool);
  match(first.configDigest, /^[0-9a-f]{64}$/);
  deepEqual(await renderConfig(publisher(kube), pool), first);
  deepEqual(Object.keys(first).sort(), ["bytes", "configDigest", "files", "profileVersion"]);
  deepEqual(kube.writes, []);
});

Deno.test("renderConfig: returns different digests for different versions of the kubelet", async () => {
  const [one, other] = await Promise.all(["1.35.3", "1.36.1"].map(async (kubelet) => {
    return (await renderConfig(publisher(await publishingKube({ kubelet })), pool)).configDigest;
  }));
  notEqual(one, other);
});

const profileKey = "k8c.io/operating-system-profile";
const refusals: [string, DeploymentOverrides, string, RegExp][] = [
  [
    "a profile that does not exist",
    { annotations: { [profileKey]: "none" } },
    "ProfileMissing",
    /"kube-system\/none" does not exist/,
  ],
  [
    "a pool without a profile, whose operating system has no default profile,",
    { annotations: { [profileKey]: "" }, value: { ...providerConfig(), operatingSystem: "sles" } },
    "ProfileMissing",
    /names no profile/,
  ],
  [
    "an operating system that is not the profile's",
    { value: { ...providerConfig(), operatingSystem: "flatcar" } },
    "OperatingSystemMismatch",
    /flatcar/,
  ],
  [
    "a provider that the profile does not support",
    { value: { ...providerConfig(), cloudProvider: "nowhere" } },
    "ProviderUnsupported",
    /nowhere/,
  ],
  ["an unknown kubelet version", { kubelet: "1.99.0" }, "KubeletVersionInvalid", /1\.99\.0/],
  ["a missing kubelet version", { kubelet: "" }, "KubeletVersionInvalid", /must be a version like 1.36.1$/],
  [
    "a provider config with an unknown field",
    { value: { ...providerConfig(), colour: "red" } },
    "ProviderConfigInvalid",
    /colour/,
  ],
  ["a missing provider config", { value: null }, "ProviderConfigInvalid", /fleet\/pool/],
];

for (const [what, overrides, type, words] of refusals) {
  Deno.test(`renderConfig: refuses ${what} as ${type}`, async () => {
    const kube = await publishingKube(overrides);
    await rejects(renderConfig(publisher(kube), pool), (error: Error & { type?: string; nonRetryable?: boolean }) => {
      deepEqual([error.type, error.nonRetryable], [type, true]);
      match(error.message, words);
      return true;
    });
  });
}

Deno.test("renderConfig: refuses a cluster without cluster-info", async () => {
  const kube = await publishingKube();
  kube.remove("configmaps", "cluster-info", "kube-public");
  await rejects(renderConfig(publisher(kube), pool), { type: "ObjectInvalid" });
  kube.put("configmaps", { metadata: { namespace: "kube-public", name: "cluster-info" }, data: { kubeconfig: "{}" } });
  await rejects(renderConfig(publisher(kube), pool), { type: "ObjectInvalid" });
});

Deno.test("renderConfig: fails with GenerationStale for a deleted MachineDeployment", async () => {
  const kube = await publishingKube();
  kube.remove("machinedeployments", "pool", "fleet");
  await rejects(renderConfig(publisher(kube), pool), { type: "GenerationStale" });
});

Deno.test("renderConfig: refuses an invalid profile", async () => {
  const kube = await publishingKube();
  const metadata = { namespace: "kube-system", name: "osp-ubuntu" };
  kube.put("operatingsystemprofiles", { metadata, spec: { osName: "ubuntu" } });
  await rejects(renderConfig(publisher(kube), pool), { type: "ProfileInvalid", nonRetryable: true });
  equal(kube.writes.length, 0);
});

Deno.test("renderConfig: names the setting whose login an Eta profile cannot contain, and does not repeat the login", async () => {
  const logins = { nodeHttpProxy: "http://me:$5f3a@proxy:3128", binariesUrl: "https://me:(5f3a)@mirror" };
  const fields = { nodeHttpProxy: /input: proxy\.http: .*%24/, binariesUrl: /input: binaries\.baseUrl: .*%24/ };
  for (const [name, login] of Object.entries(logins)) {
    const kube = await publishingKube();
    await rejects(renderConfig(publisher(kube, { [name]: login }), pool), (error: Error & { type?: string }) => {
      equal(error.type, "RenderFailed");
      match(error.message, fields[name as keyof typeof fields]);
      doesNotMatch(`${error.message}${error.stack}${error.cause}`, /5f3a/);
      return true;
    });
  }
});

const openstack = {
  ...{ operatingSystem: "ubuntu", operatingSystemSpec: {}, cloudProvider: "openstack" },
  cloudProviderSpec: {
    applicationCredentialID: { secretKeyRef: { namespace: "clouds", name: "cred", key: "id" } },
    trustDevicePath: { secretKeyRef: { namespace: "clouds", name: "cred", key: "trust" } },
  },
};

Deno.test("renderConfig: names a missing value of the provider spec, and waits for it for a while", async () => {
  const kube = await publishingKube({ value: openstack, kubelet: "1.28.9" });
  putProfile(kube, { providers: ["openstack"], templating: "go", provisioning: "{{ .CloudConfig }}" });
  await rejects(renderConfig(publisher(kube), pool), {
    ...{ type: "CredentialsMissing", nonRetryable: false },
    message: /"secret:clouds\/cred\/trust", referenced by trustDevicePath, does not exist/,
  });
});

Deno.test("renderConfig: merges a profile with its parents, and refuses a missing parent", async () => {
  const kube = await publishingKube();
  putProfile(kube, { name: "osp-ubuntu", extends: { name: "base" } });
  await rejects(renderConfig(publisher(kube), pool), {
    ...{ type: "ProfileMissing", nonRetryable: true },
    message: /Failed to extend profile "base": it does not exist/,
  });
  putProfile(kube, { name: "base", bootstrap: "of the base" });
  const first = await renderConfig(publisher(kube), pool);
  putProfile(kube, { name: "base", bootstrap: "of another base" });
  notEqual((await renderConfig(publisher(kube), pool)).configDigest, first.configDigest);
});
