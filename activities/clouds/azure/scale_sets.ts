/** Scale sets of one cluster, known by their tags; they are changed only as they were read. */
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
      call: ({ virtualMachineScaleSets: sets }, place, options) => Array.fromAsync(sets.list(place, options)),
    });
    return all.filter((set) => this.#isOwn(set));
  }

  async find(group: string): Promise<VirtualMachineScaleSet | undefined> {
    const name = this.#nameIn(group);
    if (name === undefined) return undefined;
    const set = await this.api.find({
      attempt: `read scale set "${name}"`,
      call: ({ virtualMachineScaleSets: sets }, place, options) => sets.get(place, name, options),
    });
    return set && this.#isOwn(set) ? set : undefined;
  }

  /** One that changes nothing of its instances by itself: refused for any other. */
  async need(group: string): Promise<VirtualMachineScaleSet> {
    const set = await this.find(group);
    if (set) return checked(set);
    throw refused(
      "CloudRefused",
      `Failed to use scale set "${group}": this cluster does not have a scale set of that ID`,
    );
  }

  /** Nothing where it is another than it was when it was read. */
  async patch(set: VirtualMachineScaleSet, changes: VirtualMachineScaleSetUpdate): Promise<Outcome> {
    const name = nameOf(set);
    const attempt = `update scale set "${name}"`;
    const { etag: ifMatch } = set;
    // Without it, what two write at a time could be lost.
    if (!ifMatch) throw refused("CloudRefused", `Failed to ${attempt}: Azure does not report its ETag`);
    return await this.api.change({
      attempt,
      call: ({ virtualMachineScaleSets: sets }, place, options) =>
        sets.update(place, name, changes, { ...options, ifMatch }).submitted(),
    });
  }

  /** All its instances, also those that go. */
  vms(set: VirtualMachineScaleSet): Promise<VirtualMachineScaleSetVM[]> {
    return this.api.ask({
      attempt: `list the instances of "${nameOf(set)}"`,
      call: ({ virtualMachineScaleSetVMs: vms }, place, options) =>
        Array.fromAsync(vms.list(place, nameOf(set), { ...options, expand: "instanceView" })),
    });
  }

  vm(set: VirtualMachineScaleSet, id: number): Promise<VirtualMachineScaleSetVM | undefined> {
    return this.api.find({
      attempt: `read instance ${id} of "${nameOf(set)}"`,
      call: ({ virtualMachineScaleSetVMs: vms }, place, options) =>
        vms.get(place, nameOf(set), String(id), { ...options, expand: "instanceView" }),
    });
  }

  /** Has an instance go, and the set's size with it. One that goes already, or is gone, is no failure. */
  async delete(set: VirtualMachineScaleSet, id: number): Promise<void> {
    try {
      await this.api.ask({
        attempt: `remove instance ${id} of "${nameOf(set)}"`,
        call: ({ virtualMachineScaleSets: sets }, place, options) =>
          sets.deleteInstances(place, nameOf(set), { instanceIds: [String(id)] }, options).submitted(),
      });
    } catch (error) {
      if (failureTypeOf(error) !== "CloudRefused") throw error;
      const vm = await this.vm(set, id);
      if (vm && !isGoing(vm)) throw error;
    }
  }

  /** What it says of having found no room for what it should make; "" where that is not what keeps it from it. */
  async lackOf(set: VirtualMachineScaleSet): Promise<string> {
    if (set.provisioningState !== "Failed") return "";
    const { statuses = [] } = await this.api.ask({
      attempt: `read the state of scale set "${nameOf(set)}"`,
      call: ({ virtualMachineScaleSets: sets }, place, options) => sets.getInstanceView(place, nameOf(set), options),
    });
    return lackIn(statuses);
  }

  #isOwn({ tags }: VirtualMachineScaleSet): boolean {
    return tags?.["constellation-uid"] === this.of.clusterTag;
  }

  /** Undefined for what is not of the resource group that it looks after. */
  #nameIn(group: string): string | undefined {
    const { subscription, resourceGroup } = this.of;
    const place = `/subscriptions/${subscription}/resourceGroups/${resourceGroup}/providers/Microsoft.Compute`;
    const prefix = `${place}/virtualMachineScaleSets/`;
    const name = group.slice(prefix.length);
    return groupKeyOf(group).startsWith(groupKeyOf(prefix)) && /^[\w.-]+$/.test(name) ? name : undefined;
  }
}

/** The same set; refused where it changes its instances by itself. */
export function checked(set: VirtualMachineScaleSet): VirtualMachineScaleSet {
  const trouble = troubleOf(set);
  if (trouble === undefined) return set;
  throw refused("CloudRefused", `Failed to use scale set "${nameOf(set)}": ${trouble}`);
}

/** A group in the words of all clouds. Azure knows no bounds: they stand where the cluster-autoscaler looks for them. */
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

/** What statuses say of a lack of room: their codes are like "ProvisioningState/failed/AllocationFailed". */
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

function troubleOf({ orchestrationMode, upgradePolicy, overprovision }: VirtualMachineScaleSet): string | undefined {
  const { mode = "none", automaticOSUpgradePolicy } = upgradePolicy ?? {};
  if (orchestrationMode === "Flexible") return "its orchestration mode is Flexible; use Uniform";
  if (mode !== "Manual") return `its upgrade policy "${mode}" replaces machines by itself; set "Manual"`;
  if (automaticOSUpgradePolicy?.enableAutomaticOSUpgrade) {
    return "it upgrades operating systems by itself; turn off automatic OS upgrades";
  }
  if (overprovision) return "it creates more machines than requested; turn off overprovisioning";
  return undefined;
}
