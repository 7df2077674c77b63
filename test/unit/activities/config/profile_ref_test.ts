import { deepEqual, equal } from "node:assert/strict";
import { MachineDeployment } from "../../../../activities/kube/resources.ts";
import { profileRef } from "../../../../activities/config/read_profile.ts";

function refOf(annotations: Record<string, string>, value: unknown): ReturnType<typeof profileRef> {
  const metadata = {
    name: "pool",
    namespace: "fleet",
    uid: "u",
    creationTimestamp: "2026-01-01T00:00:00Z",
    annotations,
  };
  const spec = { template: { spec: { providerSpec: { value } } } };
  return profileRef(MachineDeployment.parse({ metadata, spec }), "kube-system");
}

const nameKey = "k8c.io/operating-system-profile";
const ubuntu = { operatingSystem: "ubuntu", cloudProvider: "aws" };

Deno.test("profileRef: returns the profile that a MachineDeployment names, with its namespace", () => {
  deepEqual(refOf({ [nameKey]: "mine" }, ubuntu), { name: "mine", namespace: "kube-system" });
  const both = { [nameKey]: "mine", "k8c.io/operating-system-profile-namespace": "own" };
  deepEqual(refOf(both, ubuntu), { name: "mine", namespace: "own" });
});

Deno.test("profileRef: returns the default when no profile is named, whatever else the provider config contains", () => {
  deepEqual(refOf({}, ubuntu), { name: "osp-ubuntu", namespace: "kube-system" });
  deepEqual(refOf({ [nameKey]: "" }, { ...ubuntu, colour: "red" })?.name, "osp-ubuntu");
  const byCloudInit = { operatingSystem: "flatcar", operatingSystemSpec: { provisioningUtility: "cloud-init" } };
  equal(refOf({}, { ...ubuntu, ...byCloudInit })?.name, "osp-flatcar-cloud-init");
  const inCapitals = { ...byCloudInit, operatingSystemSpec: { ProvisioningUtility: "cloud-init" } };
  equal(refOf({}, { ...ubuntu, ...inCapitals })?.name, "osp-flatcar-cloud-init");
});

Deno.test("profileRef: returns nothing for a system without a default, or without a provider config", () => {
  equal(refOf({}, { ...ubuntu, operatingSystem: "sles" }), undefined);
  equal(refOf({}, { operatingSystem: "flatcar", cloudProvider: "anexia" }), undefined);
  equal(refOf({}, undefined), undefined);
});
