/** Instances of scale sets, with the tokens of their orders. */
import type { VirtualMachineScaleSet, VirtualMachineScaleSetVM } from "@azure/arm-compute";
import type { Instance } from "../driver.ts";
import { idOf, instanceOf, partsOf } from "./instance_of.ts";
import { type Notes, notesOf } from "./notes.ts";
import { heirOf } from "./order_step.ts";
import type { ScaleSets } from "./scale_sets.ts";

export class AzureInstances {
  constructor(private readonly sets: ScaleSets) {}

  /** Lists the instances of a scale set, sorted by id, which is the order of creation. */
  async list(group: string): Promise<Instance[]> {
    const set = await this.sets.need(group);
    const vms = (await this.sets.vms(set)).sort((a, b) => idOf(a) - idOf(b));
    const tokens = tokensOf(set, vms);
    return vms.map((vm) => instanceOf(set, vm, tokens.get(idOf(vm))));
  }

  /** Returns an instance; undefined also for an instance of another cluster's scale set. */
  async find(providerId: string): Promise<Instance | undefined> {
    const parts = partsOf(providerId);
    const set = parts && await this.sets.find(parts.group);
    const vm = set && await this.sets.vm(set, parts.id);
    if (!vm) return undefined;
    const { open, orders } = notesOf(set.tags);
    const mayBeNew = open !== undefined && parts.id > open.after;
    const tokens = mayBeNew ? tokensOf(set, await this.sets.vms(set)) : orders;
    return instanceOf(set, vm, tokens.get(parts.id));
  }
}

/** Returns tokens by instance id, including the token of an open order before its instance is recorded. */
function tokensOf(set: VirtualMachineScaleSet, vms: VirtualMachineScaleSetVM[]): Notes["orders"] {
  const notes = notesOf(set.tags);
  const heir = heirOf({ notes, size: set.sku?.capacity ?? 0, vms });
  return notes.open && heir ? new Map([...notes.orders, [idOf(heir), notes.open.token]]) : notes.orders;
}
