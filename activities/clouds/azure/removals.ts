/**
 * Removals of instances. Azure reduces the size of a set with each deleted instance: if the instance must be replaced,
 * a note is recorded before the deletion, and the request that deletes the note restores the size.
 */
import type { VirtualMachineScaleSet } from "@azure/arm-compute";
import { refused, unavailable } from "../../failures.ts";
import { groupKeyOf } from "../driver.ts";
import type { Place } from "./api.ts";
import { idOf, partsOf } from "./instance_of.ts";
import { boundTo, type Notes, notesOf, tagsWith } from "./notes.ts";
import { heirOf } from "./order_step.ts";
import { Patience } from "./patience.ts";
import { checked, groupOf, isGoing, nameOf, type ScaleSets } from "./scale_sets.ts";

interface Removal {
  group: string;
  providerId: string;
  shrinks: boolean;
}

export class AzureRemovals {
  constructor(private readonly sets: ScaleSets, private readonly place: Place) {}

  /**
   * Removes an instance. Does not delete an instance that is already being deleted, because Azure could reduce the size
   * again.
   */
  async remove({ group, providerId, shrinks }: Removal): Promise<"Going" | "Gone"> {
    const parts = partsOf(providerId);
    if (!parts) return "Gone";
    if (groupKeyOf(parts.group) !== groupKeyOf(group)) {
      throw refused(
        "CloudRefused",
        `Failed to remove instance "${providerId}": the instance does not belong to group "${group}"`,
      );
    }
    const patience = new Patience(this.place);
    let isTold = false;
    const step = async (): Promise<"Going" | "Gone" | undefined> => {
      const found = await this.sets.find(group);
      if (!found) return "Gone";
      const [set, notes] = [checked(found), notesOf(found.tags)];
      const vm = await this.sets.vm(set, parts.id);
      if (!vm || isGoing(vm)) {
        await this.#makeUp(set, notes, { id: parts.id, shrinks });
        return vm ? "Going" : "Gone";
      }
      if (await this.#bind(set, notes, parts.id)) return undefined;
      if (notes.makeUpFor.includes(parts.id) === shrinks) await this.#note(set, notes, { id: parts.id, shrinks });
      else if (isTold) {
        await patience.rest(`Failed to remove instance "${providerId}": Azure does not report its deletion yet`);
      } else {
        await this.sets.delete(set, parts.id);
        if (shrinks) return "Going";
        isTold = true;
      }
      return undefined;
    };
    for (;;) {
      const end = await patience.through(step);
      if (end) return end;
    }
  }

  /**
   * Records the instance of an open order before the instance is removed, because without the record a repeated order
   * would create another instance. Returns whether the set has changed.
   */
  async #bind(set: VirtualMachineScaleSet, notes: Notes, id: number): Promise<boolean> {
    if (!notes.open || id <= notes.open.after || notes.orders.has(id)) return false;
    const heir = heirOf({ notes, size: groupOf(set).size, vms: await this.sets.vms(set) });
    if (!heir || idOf(heir) !== id) return false;
    await this.#patch(set, { tags: tagsWith(set.tags, { ...notes, open: undefined, orders: boundTo(notes, id) }) });
    return true;
  }

  /** Records whether the instance must be replaced. */
  async #note(
    set: VirtualMachineScaleSet,
    notes: Notes,
    { id, shrinks }: { id: number; shrinks: boolean },
  ): Promise<void> {
    const others = notes.makeUpFor.filter((each) => each !== id);
    const tags = tagsWith(set.tags, { ...notes, makeUpFor: shrinks ? others : [...others, id] });
    await this.#patch(set, { tags });
  }

  /**
   * Deletes the note of the instance, and unless the set must shrink, restores the size; does nothing without a note.
   */
  async #makeUp(
    set: VirtualMachineScaleSet,
    notes: Notes,
    { id, shrinks }: { id: number; shrinks: boolean },
  ): Promise<void> {
    if (!notes.makeUpFor.includes(id)) return;
    const makeUpFor = notes.makeUpFor.filter((each) => each !== id);
    const tags = tagsWith(set.tags, { ...notes, makeUpFor });
    const sku = shrinks ? {} : { sku: { ...set.sku, capacity: groupOf(set).size + 1 } };
    await this.#patch(set, { ...sku, tags });
  }

  /** Updates the set. Throws Transient while Azure lacks the capacity to replace the removed instance. */
  async #patch(set: VirtualMachineScaleSet, changes: Parameters<ScaleSets["patch"]>[1]): Promise<void> {
    const outcome = await this.sets.patch(set, changes);
    if (outcome.is === "NoRoom") {
      throw unavailable(`Failed to restore the size of scale set "${nameOf(set)}": ${outcome.says}`);
    }
  }
}
