import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { KubeObject, Verdict } from "../../../../workers/admission/admission_review.ts";
import { admitMachineDeployment } from "../../../../workers/admission/admit_machine_deployment.ts";
import { deployment, type DeploymentWords, profileKey, request } from "./review_objects.ts";

const path = "/metadata/annotations/k8c.io~1operating-system-profile";

async function judge(object: KubeObject | null, old: KubeObject | null = null): Promise<Verdict> {
  const specs: Record<string, unknown> = {
    "kube-system/my-flatcar": { osName: "flatcar" },
    "kube-system/my-ubuntu": { osName: "ubuntu" },
    "own/my-flatcar": { osName: "ubuntu" },
  };
  const admit = admitMachineDeployment({
    profileNamespace: "kube-system",
    specOf: ({ namespace, name }) => Promise.resolve(specs[`${namespace}/${name}`]),
  });
  return await admit(request(object, old), new AbortController().signal);
}

async function denial(object: KubeObject, old: KubeObject | null = null): Promise<string> {
  const { denial } = await judge(object, old);
  equal(denial?.code, 422);
  return denial.message;
}

const flatcarByCloudInit = { operatingSystem: "flatcar", operatingSystemSpec: { provisioningUtility: "cloud-init" } };

const defaults: [string, Record<string, unknown>, string][] = [
  ...["ubuntu", "rhel", "rockylinux", "amzn2", "debian"].map((
    operatingSystem,
  ): [string, Record<string, unknown>, string] => [operatingSystem, { operatingSystem }, `osp-${operatingSystem}`]),
  ["flatcar", { operatingSystem: "flatcar" }, "osp-flatcar"],
  ["flatcar by cloud-init", flatcarByCloudInit, "osp-flatcar-cloud-init"],
  ["flatcar by cloud-init on anexia", { cloudProvider: "anexia", ...flatcarByCloudInit }, "osp-flatcar-cloud-init"],
];

for (const [what, value, name] of defaults) {
  Deno.test(`admitMachineDeployment: ${what} without a profile gets ${name}, by a patch of only the annotation`, async () => {
    const fresh = await judge(deployment({ annotations: null, value }));
    deepEqual(fresh.patch, [{ op: "add", path: "/metadata/annotations", value: { [profileKey]: name } }]);
    const annotated = await judge(deployment({ annotations: { mine: "yes", [profileKey]: "" }, value }));
    deepEqual(annotated.patch, [{ op: "add", path, value: name }]);
  });
}

Deno.test("admitMachineDeployment: leaves a MachineDeployment with any profile unchanged", async () => {
  deepEqual(await judge(deployment({ annotations: { [profileKey]: "not-yet-there" } })), {});
  deepEqual(await judge(deployment({ annotations: { [profileKey]: "mine" }, value: { operatingSystem: "sles" } })), {});
});

const refusals: [string, DeploymentWords, RegExp][] = [
  ["an unknown field", { value: { colour: "red" } }, /^Invalid provider config of "fleet\/pool": .*"colour"/],
  ["an unknown field of the network", { value: { network: { mtu: 1 } } }, /network: .*"mtu"/],
  ["a field of a wrong type", { value: { sshPublicKeys: "key" } }, /sshPublicKeys: /],
  ["a static address for ubuntu", { value: { network: { cidr: "192.0.2.1/24" } } }, /only flatcar supports cidr/],
  ["no kubelet version", { kubelet: "" }, /kubelet version "": must be a version/],
  ["an invalid kubelet version", { kubelet: "latest" }, /kubelet version "latest": must be a version/],
  ["flatcar by Ignition on anexia", {
    annotations: null,
    value: { cloudProvider: "anexia", operatingSystem: "flatcar" },
  }, /set operatingSystemSpec.provisioningUtility to cloud-init/],
  [
    "a system without a default profile",
    { annotations: null, value: { operatingSystem: "sles" } },
    /no default profile/,
  ],
  ...[["EvictionHard", "memory.available"], ["MaxPods", "many"], ["ContainerLogMaxFiles", "abc"], [
    "ImageMinimumGCAge",
    "5",
  ]]
    .map(([key, value]): [string, DeploymentWords, RegExp] => [
      `${key} "${value}"`,
      { annotations: { [`v1.kubelet-config.machine-controller.kubermatic.io/${key}`]: value ?? "" } },
      new RegExp(`annotation ".*/${key}": value "${value}" must be`),
    ]),
];

for (const [what, words, wanted] of refusals) {
  Deno.test(`admitMachineDeployment: denies ${what}`, async () => match(await denial(deployment(words)), wanted));
}

Deno.test("admitMachineDeployment: denies a new MachineDeployment with the name of the Rollout of another pool", async () => {
  const named = (metadata: Partial<KubeObject["metadata"]>): KubeObject => {
    const fresh = deployment({ annotations: { [profileKey]: "mine" } });
    return { ...fresh, metadata: { ...fresh.metadata, ...metadata } };
  };
  match(await denial(named({ name: "node-pool.web" })), /^Failed to create MachineDeployment "fleet\/node-pool.web": /);
  match(await denial(named({ namespace: "kube-system", name: "scaling-group.web" })), /"scaling-group\."/);
  deepEqual(await judge(named({ name: "scaling-group.web" })), {});
  deepEqual(await judge(named({ name: "node-pool" })), {});
  // An existing one must stay changeable, because 0.1.0 accepted it.
  deepEqual(await judge(named({ name: "node-pool.web" }), named({ name: "node-pool.web" })), {});
});

Deno.test("admitMachineDeployment: denies a MachineDeployment without a provider config", async () => {
  const empty = deployment();
  match(
    await denial({ ...empty, spec: { template: { spec: { versions: { kubelet: "1.36.1" } } } } }),
    /provider config/,
  );
  match(await denial({ ...empty, spec: {} }), /provider config of "fleet\/pool": .*kubelet version/s);
});

Deno.test("admitMachineDeployment: reports all errors at once, and no value of the provider spec", async () => {
  const message = await denial(
    deployment({ kubelet: "", value: { colour: "red", cloudProviderSpec: { token: "hunter2" } } }),
  );
  match(message, /"colour".*; .*kubelet version/);
  ok(!message.includes("hunter2"));
});

Deno.test("admitMachineDeployment: an error that the previous object had too blocks neither a change of replicas nor a deletion", async () => {
  const broken = { value: { colour: "red" } };
  const scaled = await judge(deployment({ ...broken, replicas: 3 }), deployment(broken));
  equal(scaled.denial, undefined);
  match(scaled.warnings?.[0] ?? "", /colour/);
  match(await denial(deployment({ ...broken, kubelet: "1.36.2" }), deployment(broken)), /colour/);
  deepEqual(await judge(deployment({ ...broken, deletionTimestamp: "2026-01-01T00:00:00Z" }), deployment(broken)), {});
  deepEqual(await judge(null, deployment(broken)), {});
});

Deno.test("admitMachineDeployment: a kubelet annotation that the previous object had too, and Operating System Manager accepts, does not block changes of the MachineDeployment", async () => {
  const prefix = "v1.kubelet-config.machine-controller.kubermatic.io/";
  // Operating System Manager drops the pair without a delimiter.
  const annotations = { [profileKey]: "mine", [`${prefix}SystemReserved`]: "cpu=200m,memory" };
  const bound = { "cluster.k8s.io/cluster-api-autoscaler-node-group-min-size": "3" };
  for (const words of [{ annotations: { ...annotations, ...bound } }, { annotations, kubelet: "1.36.2" }]) {
    const { denial, warnings } = await judge(deployment(words), deployment({ annotations }));
    equal(denial, undefined);
    match(warnings?.[0] ?? "", /SystemReserved": value "cpu=200m,memory" must be/);
  }
  const another = { ...annotations, [`${prefix}SystemReserved`]: "cpu=200m,disk" };
  match(await denial(deployment({ annotations: another }), deployment({ annotations })), /cpu=200m,disk/);
});

Deno.test("admitMachineDeployment: warns if machine-controller removes machines by itself, before Ostler could delay that", async () => {
  const warningsOf = async (rollingUpdate: Record<string, number | string>, replicas = 10): Promise<string[]> =>
    (await judge(deployment({ rollingUpdate, replicas }), deployment())).warnings ?? [];
  // Machine-controller rounds `maxUnavailable` down, and removes one machine if both numbers are 0.
  const paced: Record<string, number | string>[] = [{}, { maxSurge: 1, maxUnavailable: 0 }, { maxUnavailable: "9%" }];
  for (const rollingUpdate of paced) deepEqual(await warningsOf(rollingUpdate), []);
  const [one = ""] = await warningsOf({ maxSurge: 1, maxUnavailable: 1 });
  match(one, /^machine-controller removes 1 machine at once when the template changes, .*windows, waves, approvals, /);
  match(one, /; set maxUnavailable to 0 and maxSurge to at least 1$/);
  match((await warningsOf({ maxUnavailable: "25%" })).join(), /removes 2 machines at once/);
  match((await warningsOf({ maxSurge: 0, maxUnavailable: "9%" })).join(), /removes 1 machine at once/);
  match((await warningsOf({ maxSurge: "0%", maxUnavailable: 3 }, 2)).join(), /removes 2 machines at once/);
  match((await warningsOf({ maxUnavailable: 1 }, 0)).join(), /removes 1 machine at once/);
});

Deno.test("admitMachineDeployment: replaces a default profile when the operating system changes", async () => {
  const { denial, patch } = await judge(deployment({ value: { operatingSystem: "rhel" } }), deployment());
  equal(denial, undefined);
  deepEqual(patch, [{ op: "add", path, value: "osp-rhel" }]);
});

Deno.test("admitMachineDeployment: denies a custom profile for another operating system", async () => {
  const annotations = { [profileKey]: "my-ubuntu" };
  const flatcar = { operatingSystem: "flatcar" };
  const message = await denial(deployment({ annotations, value: flatcar }), deployment({ annotations }));
  match(message, /from "ubuntu" to "flatcar": profile "my-ubuntu" does not support it/);
});

Deno.test("admitMachineDeployment: admits a change to an operating system that the profile supports; reads the profile from the annotated namespace", async () => {
  const value = { operatingSystem: "flatcar" };
  const annotations = { [profileKey]: "my-flatcar" };
  equal((await judge(deployment({ annotations, value }), deployment({ annotations }))).denial, undefined);
  const elsewhere = { ...annotations, "k8c.io/operating-system-profile-namespace": "own" };
  await denial(deployment({ annotations: elsewhere, value }), deployment({ annotations: elsewhere }));
});

Deno.test("admitMachineDeployment: admits a change of profile and operating system together", async () => {
  const changed = deployment({ annotations: { [profileKey]: "new" }, value: { operatingSystem: "flatcar" } });
  equal((await judge(changed, deployment())).denial, undefined);
});

Deno.test("admitMachineDeployment: answers an unexpected operation, such as CONNECT, with 400", async () => {
  const admit = admitMachineDeployment({ profileNamespace: "kube-system", specOf: () => Promise.resolve(undefined) });
  const asked = { ...request(deployment()), operation: "CONNECT" };
  equal((await admit(asked, new AbortController().signal)).denial?.code, 400);
});

Deno.test("fault P7: admitMachineDeployment warns of an annotation that has no effect in spec.template", async () => {
  const object = deployment({ annotations: { [profileKey]: "mine" } });
  const template = object.spec?.["template"] as { metadata?: object };
  const key = "v1.kubelet-config.machine-controller.kubermatic.io/MaxPods";
  template.metadata = { annotations: { [key]: "58", "example.com/other": "x" } };
  deepEqual(await judge(object), {
    warnings: [`annotation "${key}" has no effect in spec.template; set it in the metadata of the MachineDeployment`],
  });
});

Deno.test("fault P9: admitMachineDeployment warns of an organization and an activation key of RHEL without a Satellite server", async () => {
  const operatingSystemSpec = { rhelOrganizationName: "1", rhelActivationKey: "k" };
  const value = { operatingSystem: "rhel", operatingSystemSpec };
  const { warnings } = await judge(deployment({ annotations: { [profileKey]: "mine" }, value }));
  match(
    warnings?.[0] ?? "",
    /rhelOrganizationName and .*rhelActivationKey have no effect unless rhelUseSatelliteServer is true/,
  );
  const used = { ...operatingSystemSpec, rhelUseSatelliteServer: true, rhelSatelliteServer: "s" };
  const fine = { operatingSystem: "rhel", operatingSystemSpec: used };
  equal((await judge(deployment({ annotations: { [profileKey]: "mine" }, value: fine }))).warnings, undefined);
});

Deno.test("fault P9: admitMachineDeployment warns that Flatcar machines would update themselves, unless a field decides it", async () => {
  const warningsOf = async (operatingSystemSpec: object): Promise<string[]> => {
    const value = { operatingSystem: "flatcar", operatingSystemSpec };
    return (await judge(deployment({ annotations: { [profileKey]: "mine" }, value }))).warnings ?? [];
  };
  match((await warningsOf({})).join(), /^Flatcar updates and reboots its machines itself, .*disableAutoUpdate to true/);
  for (const isDisabled of [true, false]) deepEqual(await warningsOf({ disableAutoUpdate: isDisabled }), []);
  deepEqual(await warningsOf({ disableUpdateEngine: true }), []);
  for (const unread of [null, "true"]) equal((await warningsOf({ disableAutoUpdate: unread })).length, 1);
});
