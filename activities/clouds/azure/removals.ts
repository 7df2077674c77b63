/**
 * Removals. Azure makes a set one smaller by each instance that is deleted: where its place is to stay, that is noted before,
 * and the size raised again by the request that takes the note away.
 */
import type { VirtualMachineScaleSet } from "@azure/arm-compute";
import { refused, unavailable } from "../../failures.ts";
import { groupKeyOf } from "../driver.ts";
import { partsOf } from "./instance_of.ts";
import { type Notes, notesOf, tagsWith } from "./notes.ts";
import { Patience } from "./patience.ts";
import { checked, groupOf, isGoing, nameOf, type ScaleSets } from "./scale_sets.ts";

interface Removal {
  group: string;
  providerId: string;
  shrinks: boolean;
}

export class AzureRemovals {
  constructor(private readonly sets: ScaleSets, private readonly signal: AbortSignal | undefined) {}

  /** Who goes already is not told again, as each time might make the set one smaller. */
  async remove({ group, providerId, shrinks }: Removal): Promise<"Going" | "Gone"> {
    const parts = partsOf(providerId);
    if (!parts) return "Gone";
    if (groupKeyOf(parts.group) !== groupKeyOf(group)) {
      throw refused(
        "CloudRefused",
        `Failed to remove instance "${providerId}": the instance does not belong to group "${group}"`,
      );
    }
    const patience = new Patience(this.signal);
    for (let isTold = false;;) {
      const found = await this.sets.find(group);
      if (!found) return "Gone";
      const [set, notes] = [checked(found), notesOf(found.tags)];
      const vm = await this.sets.vm(set, parts.id);
      if (!vm || isGoing(vm)) {
        await this.#makeUp(set, notes, { id: parts.id, shrinks });
        return vm ? "Going" : "Gone";
      }
      if (notes.makeUpFor.includes(parts.id) === shrinks) await this.#note(set, notes, { id: parts.id, shrinks });
      else if (isTold) {
        await patience.rest(`Failed to remove instance "${providerId}": Azure does not report its deletion yet`);
      } else {
        await this.sets.delete(set, parts.id);
        if (shrinks) return "Going";
        isTold = true;
      }
    }
  }

  /** Whether its place stays. */
  async #note(
    set: VirtualMachineScaleSet,
    notes: Notes,
    { id, shrinks }: { id: number; shrinks: boolean },
  ): Promise<void> {
    const others = notes.makeUpFor.filter((each) => each !== id);
    const tags = tagsWith(set.tags, { ...notes, makeUpFor: shrinks ? others : [...others, id] });
    await this.#patch(set, { tags });
  }

  /** Nothing where its place was made up for, or was not to be. */
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

  /** Until there is room for who comes instead, it is tried again. */
  async #patch(set: VirtualMachineScaleSet, changes: Parameters<ScaleSets["patch"]>[1]): Promise<void> {
    const outcome = await this.sets.patch(set, changes);
    if (outcome.is === "NoRoom") {
      throw unavailable(`Failed to restore the size of scale set "${nameOf(set)}": ${outcome.says}`);
    }
  }
}
