import type { VirtualMachineScaleSetVM } from "@azure/arm-compute";
import { deepEqual, equal } from "node:assert/strict";
import { imageOf } from "../../../../../activities/clouds/azure/images.ts";
import { instanceOf, partsOf } from "../../../../../activities/clouds/azure/instance_of.ts";
import { groupOf } from "../../../../../activities/clouds/azure/scale_sets.ts";
import type { Instance, InstanceState } from "../../../../../activities/clouds/driver.ts";

const id = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachineScaleSets/workers";

function shown(vm: Partial<VirtualMachineScaleSetVM>): Instance {
  return instanceOf({ location: "", id }, { location: "", instanceId: "7", ...vm }, undefined);
}

const states: [provisioning: string, power: string, state: InstanceState][] = [
  ...[["Creating", "", "Creating"], ["Creating", "running", "Creating"], ["Deleting", "running", "Terminating"]],
  ...[["Failed", "running", "Ready"], ["Failed", "starting", "Creating"], ["Failed", "", "Failed"]],
  ...[["Failed", "stopped", "Failed"], ["Succeeded", "running", "Ready"], ["Updating", "running", "Ready"]],
  ...[["Succeeded", "starting", "Creating"], ["Succeeded", "stopping", "Stopped"], ["Succeeded", "stopped", "Stopped"]],
  ...[["Succeeded", "deallocating", "Stopped"], ["Succeeded", "deallocated", "Stopped"], ["Succeeded", "", "Unknown"]],
  ...[["Updating", "", "Unknown"], ["", "of tomorrow", "Unknown"]],
] as [string, string, InstanceState][];

for (const [provisioningState, power, state] of states) {
  Deno.test(`instanceOf: returns ${state} for "${provisioningState}" with power "${power}"`, () => {
    const statuses = [{ code: `ProvisioningState/${provisioningState}` }, { code: `PowerState/${power}` }];
    equal(shown({ provisioningState, instanceView: { statuses: power === "" ? [] : statuses } }).state, state);
  });
}

Deno.test("instanceOf: reports no failure of a machine that runs although Azure's last operation on it failed", () => {
  const code = "ProvisioningState/failed/OSProvisioningTimedOut";
  const seen = ["", "PowerState/stopped", "PowerState/running"].map((power) => {
    const statuses = [{ code, level: "Error" as const }, ...(power ? [{ code: power, level: "Info" as const }] : [])];
    const { state, trouble } = shown({ provisioningState: "Failed", instanceView: { statuses } });
    return [state, trouble];
  });
  deepEqual(seen, [["Failed", code], ["Failed", code], ["Ready", ""]]);
});

Deno.test('instanceOf: returns the exact version of an instance that booted "latest", and imageOf returns "latest" itself', () => {
  const imageReference = { publisher: "p", offer: "o", sku: "s", version: "latest", exactVersion: "1.2.3" };
  const uri = "constellation-marketplace-image://Azure?offer=o&publisher=p&sku=s&version=";
  equal(shown({ storageProfile: { imageReference } }).image, `${uri}1.2.3`);
  equal(imageOf(imageReference), `${uri}latest`);
});

Deno.test("imageOf: returns community and shared galleries by their IDs", () => {
  const [communityGalleryImageId, sharedGalleryImageId] = ["/communityGalleries/a", "/sharedGalleries/b"];
  deepEqual([imageOf({ communityGalleryImageId }), imageOf({ sharedGalleryImageId }), imageOf({ publisher: "p" })], [
    ...[communityGalleryImageId, sharedGalleryImageId, ""],
  ]);
});

for (const protection of ["protectFromScaleIn", "protectFromScaleSetActions"]) {
  Deno.test(`instanceOf: detects ${protection}`, () => {
    equal(shown({ protectionPolicy: { [protection]: true } }).isProtected, true);
  });
}

Deno.test("instanceOf: accepts an instance without details", () => {
  const { providerId, node, addresses, isProtected, trouble } = shown({});
  deepEqual([providerId, node, addresses, isProtected, trouble], [
    `azure://${id}/virtualMachines/7`,
    "",
    [],
    false,
    "",
  ]);
});

Deno.test("partsOf: finds scale set and instance ID in upper or lower case, and returns undefined for a machine without a scale set", () => {
  deepEqual(partsOf(`azure://${id.toUpperCase()}/VIRTUALMACHINES/7`), { group: id.toUpperCase(), id: 7 });
  const alone = "azure:///subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachines/a";
  deepEqual([partsOf(alone), partsOf("aws:///a/i-1"), partsOf(`azure://${id}/virtualMachines/x`)], [
    ...[undefined, undefined, undefined],
  ]);
});

Deno.test("groupOf: returns the bounds of the cluster-autoscaler, by default those of Azure", () => {
  const bounds = (tags: Record<string, string>, singlePlacementGroup?: boolean): (number | string)[] => {
    const more = singlePlacementGroup === undefined ? {} : { singlePlacementGroup };
    const { min, max, role } = groupOf({ location: "", tags, ...more });
    return [min, max, role];
  };
  deepEqual(bounds({ min: "2", max: "9", "constellation-role": "Control-Plane" }), [2, 9, "ControlPlane"]);
  deepEqual([bounds({ min: "x", max: "" }), bounds({}, true), bounds({}, false)], [
    ...[[0, 100, ""], [0, 100, ""], [0, 1_000, ""]],
  ]);
});

Deno.test("instanceOf: treats an instance in creation without a time as new", () => {
  const ages = ["Creating", "Succeeded"].map((provisioningState) =>
    Date.now() - Date.parse(shown({ provisioningState }).since)
  );
  deepEqual(ages.map((age) => age < 60_000), [true, false]);
});
