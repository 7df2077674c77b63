/** Scale sets of one cluster, identified by their tags; an update fails if the set has changed since it was read. */
import type {
  VirtualMachineScaleSet,
  VirtualMachineScaleSetUpdate,
  VirtualMachineScaleSetVM,
} from "@azure/arm-compute";
import { failureTypeOf, refused } from "../../failures.ts";
import { type CloudGroup, groupKeyOf } from "../driver.ts";
import { type AzureApi, isNoRoom, type Outcome, type Place } from "./api.ts";

const roles: Readonly<Record<string, CloudGroup["role"]>> = {
  ...{ worker: "Worker", "control-plane": "ControlPlane", controlplane: "ControlPlane" },
};

export class ScaleSets {
  constructor(private readonly api: AzureApi, private readonly of: Place & { clusterTag: string }) {}

  async list(): Promise<VirtualMachineScaleSet[]> {
    const all = await this.api.ask({
      attempt: `list the scale sets of "${this.of.resourceGroup}"`,
      call: ({ virtualMachineScaleSets: sets }, place) => Array.fromAsync(sets.list(place)),
    });
    return all.filter((set) => this.#isOwn(set));
  }

  async find(group: string): Promise<VirtualMachineScaleSet | undefined> {
    const name = this.#nameIn(group);
    if (name === undefined) return undefined;
    const set = await this.api.find({
      attempt: `read scale set "${name}"`,
      call: ({ virtualMachineScaleSets: sets }, place) => sets.get(place, name),
    });
    return set && this.#isOwn(set) ? set : undefined;
  }

  /** Throws Refused if the scale set does not exist, or if Ostler cannot roll it (`troubleOf`). */
  async need(group: string): Promise<VirtualMachineScaleSet> {
    const set = await this.find(group);
    if (set) return checked(set);
    throw refused(
      "CloudRefused",
      `Failed to use scale set "${group}": this cluster does not have a scale set of that ID`,
    );
  }

  /** Updates the set; the update fails if the set has changed since it was read. */
  async patch(set: VirtualMachineScaleSet, changes: VirtualMachineScaleSetUpdate): Promise<Outcome> {
    const name = nameOf(set);
    const attempt = `update scale set "${name}"`;
    const { etag: ifMatch } = set;
    // Without an ETag, one of two concurrent updates could be lost.
    if (!ifMatch) throw refused("CloudRefused", `Failed to ${attempt}: Azure does not report its ETag`);
    return await this.api.change({
      attempt,
      call: ({ virtualMachineScaleSets: sets }, place) => sets.update(place, name, changes, { ifMatch }).submitted(),
    });
  }

  /** Lists all instances of the set, including those that are being deleted. */
  vms(set: VirtualMachineScaleSet): Promise<VirtualMachineScaleSetVM[]> {
    return this.api.ask({
      attempt: `list the instances of "${nameOf(set)}"`,
      call: ({ virtualMachineScaleSetVMs: vms }, place) =>
        Array.fromAsync(vms.list(place, nameOf(set), { expand: "instanceView" })),
    });
  }

  vm(set: VirtualMachineScaleSet, id: number): Promise<VirtualMachineScaleSetVM | undefined> {
    return this.api.find({
      attempt: `read instance ${id} of "${nameOf(set)}"`,
      call: ({ virtualMachineScaleSetVMs: vms }, place) =>
        vms.get(place, nameOf(set), String(id), { expand: "instanceView" }),
    });
  }

  /**
   * Deletes an instance and reduces the set's size. An instance that is being deleted, or is absent, counts as success.
   */
  async delete(set: VirtualMachineScaleSet, id: number): Promise<void> {
    try {
      await this.api.ask({
        attempt: `remove instance ${id} of "${nameOf(set)}"`,
        call: ({ virtualMachineScaleSets: sets }, place) =>
          sets.deleteInstances(place, nameOf(set), { instanceIds: [String(id)] }).submitted(),
      });
    } catch (error) {
      if (failureTypeOf(error) !== "CloudRefused") throw error;
      const vm = await this.vm(set, id);
      if (vm && !isGoing(vm)) throw error;
    }
  }

  /** Returns the cause if the set lacks capacity for its instances; else "". */
  async lackOf(set: VirtualMachineScaleSet): Promise<string> {
    if (set.provisioningState !== "Failed") return "";
    const { statuses = [] } = await this.api.ask({
      attempt: `read the state of scale set "${nameOf(set)}"`,
      call: ({ virtualMachineScaleSets: sets }, place) => sets.getInstanceView(place, nameOf(set)),
    });
    return lackIn(statuses);
  }

  #isOwn({ tags }: VirtualMachineScaleSet): boolean {
    return tags?.["constellation-uid"] === this.of.clusterTag;
  }

  /** Returns the name in the id of a scale set; undefined for an id outside the configured resource group. */
  #nameIn(group: string): string | undefined {
    const { subscription, resourceGroup } = this.of;
    const place = `/subscriptions/${subscription}/resourceGroups/${resourceGroup}/providers/Microsoft.Compute`;
    const prefix = `${place}/virtualMachineScaleSets/`;
    const name = group.slice(prefix.length);
    return groupKeyOf(group).startsWith(groupKeyOf(prefix)) && /^[\w.-]+$/.test(name) ? name : undefined;
  }
}

/** Returns the same set. Throws Refused if Ostler cannot roll it. */
export function checked(set: VirtualMachineScaleSet): VirtualMachineScaleSet {
  const trouble = troubleOf(set);
  if (trouble === undefined) return set;
  throw refused("CloudRefused", `Failed to use scale set "${nameOf(set)}": ${trouble}`);
}

/**
 * Describes a scale set in the form that is common to all clouds. Azure has no bounds for the size, so they come from
 * the tags of the cluster-autoscaler.
 */
export function groupOf(
  { id = "", name = "", tags = {}, sku, singlePlacementGroup }: VirtualMachineScaleSet,
): CloudGroup {
  const most = singlePlacementGroup === false ? 1_000 : 100;
  return {
    ...{ id, name: tags["constellation-node-group"] || name, autoscalerName: name },
    role: roles[tags["constellation-role"]?.toLowerCase() ?? ""] ?? "",
    ...{ min: boundOf(tags["min"]) ?? 0, max: boundOf(tags["max"]) ?? most, size: sku?.capacity ?? 0 },
  };
}

export function isGoing({ provisioningState }: VirtualMachineScaleSetVM): boolean {
  return provisioningState?.toLowerCase() === "deleting";
}

export function nameOf({ name = "" }: VirtualMachineScaleSet): string {
  return name;
}

/** Returns the cause if capacity is missing, else ""; codes look like "ProvisioningState/failed/AllocationFailed". */
export function lackIn(statuses: readonly { code?: string; message?: string }[]): string {
  for (const { code = "", message = "" } of statuses) {
    const cause = code.split("/").at(-1) ?? "";
    if (isNoRoom(cause, message)) return `${cause}: ${message.slice(0, 500)}`;
  }
  return "";
}

function boundOf(text = ""): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Returns why Ostler cannot roll the set; undefined if it can. */
function troubleOf(
  { orchestrationMode, upgradePolicy, overprovision, resiliencyPolicy }: VirtualMachineScaleSet,
): string | undefined {
  const { mode = "none", automaticOSUpgradePolicy } = upgradePolicy ?? {};
  if (orchestrationMode === "Flexible") return "its orchestration mode is Flexible; use Uniform";
  if (mode !== "Manual") {
    return `its upgrade policy is "${mode}", with which Azure may replace machines by itself; set "Manual"`;
  }
  if (automaticOSUpgradePolicy?.enableAutomaticOSUpgrade) {
    return "it upgrades operating systems by itself; turn off automatic OS upgrades";
  }
  if (overprovision) return "it creates more machines than requested; turn off overprovisioning";
  if (resiliencyPolicy?.automaticZoneRebalancingPolicy?.enabled) {
    return "it moves machines between zones by itself; turn off automatic zone balance";
  }
  return undefined;
}
