/** Describes an instance of Azure in the form that is common to all clouds. */
import type { VirtualMachineScaleSet, VirtualMachineScaleSetVM } from "@azure/arm-compute";
import type { Instance, InstanceState } from "../driver.ts";
import { bootedFrom, imageOf } from "./images.ts";

const provisioning: Readonly<Record<string, InstanceState>> = {
  creating: "Creating",
  deleting: "Terminating",
  failed: "Failed",
};
const power: Readonly<Record<string, InstanceState>> = {
  ...{ starting: "Creating", running: "Ready", stopping: "Stopped", stopped: "Stopped" },
  ...{ deallocating: "Stopped", deallocated: "Stopped" },
};

export function instanceOf(
  { id: group = "" }: VirtualMachineScaleSet,
  vm: VirtualMachineScaleSetVM,
  token: string | undefined,
): Instance {
  const { osProfile: { computerName = "" } = {}, protectionPolicy, storageProfile, zones: [zone] = [] } = vm;
  const node = computerName.toLowerCase();
  const state = stateOf(vm);
  return {
    ...{ providerId: providerIdOf(group, idOf(vm)), group, node, state, trouble: troubleOf(vm) },
    image: bootedFrom(storageProfile?.imageReference),
    // The node's name stands for the IP addresses, which only another API of Azure lists; the network of the instance
    // resolves the name.
    addresses: node === "" ? [] : [node],
    ...(token === undefined ? {} : { token }),
    ...(zone === undefined ? {} : { zone }),
    isProtected: protectionPolicy?.protectFromScaleIn || protectionPolicy?.protectFromScaleSetActions || false,
    since: (vm.timeCreated ?? new Date(state === "Creating" ? Date.now() : 0)).toISOString(),
  };
}

/** Returns the instance of an order that Azure does not list, because the instance is too new, or has been deleted. */
export function unseen(
  { id: group = "", virtualMachineProfile }: VirtualMachineScaleSet,
  id: number,
  token: string,
): Instance {
  const image = imageOf(virtualMachineProfile?.storageProfile?.imageReference);
  return {
    ...{ providerId: providerIdOf(group, id), group, node: "", state: "Unknown", trouble: "", image },
    ...{ addresses: [], token, isProtected: false, since: new Date().toISOString() },
  };
}

export function idOf({ instanceId }: VirtualMachineScaleSetVM): number {
  return Number(instanceId);
}

/** Returns undefined for an id that is not of an instance of a uniform scale set. */
export function partsOf(providerId: string): { group: string; id: number } | undefined {
  const [, group, id] = /^azure:\/\/(\/.+)\/virtualMachines\/(\d{1,15})$/i.exec(providerId) ?? [];
  return group === undefined ? undefined : { group, id: Number(id) };
}

function providerIdOf(group: string, id: number): string {
  return `azure://${group}/virtualMachines/${id}`;
}

/**
 * Returns the provisioning state if `provisioning` contains it, else the power state. A failure does not count while
 * the machine runs or starts, because Azure reports with it only that its last operation on the machine failed.
 */
function stateOf(vm: VirtualMachineScaleSetVM): InstanceState {
  const own = provisioning[vm.provisioningState?.toLowerCase() ?? ""];
  if (own && !(own === "Failed" && isOn(vm))) return own;
  return power[powerOf(vm)] ?? "Unknown";
}

/** Returns whether the machine runs or starts. */
function isOn(vm: VirtualMachineScaleSetVM): boolean {
  return ["running", "starting"].includes(powerOf(vm));
}

/** Returns the power state in lower case; "" without one, as of a machine that Azure could not create. */
function powerOf({ instanceView }: VirtualMachineScaleSetVM): string {
  const codes = (instanceView?.statuses ?? []).map(({ code = "" }) => code.toLowerCase());
  return codes.find((code) => code.startsWith("powerstate/"))?.split("/")[1] ?? "";
}

/** Returns the code of a failure, but not its message, which may quote what a user wrote; "" without a failure. */
function troubleOf(vm: VirtualMachineScaleSetVM): string {
  if (isOn(vm)) return "";
  const code = vm.instanceView?.statuses?.find(({ level }) => level === "Error")?.code;
  return code ?? (vm.provisioningState?.toLowerCase() === "failed" ? "ProvisioningState/failed" : "");
}
