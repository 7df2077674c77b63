/**
 * What is to be done next for an order, from one look at a scale set; pure. As each step is written only on top of the state
 * that it was decided on, whoever is cut off, or comes second, finds a state from which the same order goes on.
 */
import type { VirtualMachineScaleSetVM } from "@azure/arm-compute";
import { idOf } from "./instance_of.ts";
import type { Notes, OpenOrder } from "./notes.ts";
import { isGoing, lackIn } from "./scale_sets.ts";

export interface Sight {
  notes: Notes;
  size: number;
  vms: VirtualMachineScaleSetVM[];
  /** Why the set could not make all that it should; "" where it does not lack room. */
  lack: string;
  now: number;
}

export type Step =
  /** The order has its instance. */
  | { do: "Tell"; id: number }
  /** The open order gets its instance. */
  | { do: "Bind"; id: number }
  /** An instance that came to nothing is deleted, and its order ends. */
  | { do: "TakeBack"; id: number; says: string }
  /** The open order ends with a size that leaves out what was not made for it. */
  | { do: "Withdraw"; size: number; says: string }
  | { do: "Wait"; says: string }
  /** The order is given. */
  | { do: "Raise" };

/** Milliseconds after which what is not shown is not there. */
export const lagMs = 120_000;

/** Milliseconds by which clocks may differ. */
const skewMs = 600_000;

export function nextStep(sight: Sight, token: string): Step {
  const { notes: { open, orders } } = sight;
  const known = [...orders].find(([, each]) => each === token);
  if (known) return { do: "Tell", id: known[0] };
  return open ? stepOf(sight, open) : { do: "Raise" };
}

/** The instance that an open order has to be given, as far as can be seen. */
export function heirOf(
  { notes, size, vms }: Pick<Sight, "notes" | "size" | "vms">,
): VirtualMachineScaleSetVM | undefined {
  const { open, orders } = notes;
  if (!open) return undefined;
  // A list of many pages may leave one out, so that the highest id was not known.
  const isFresh = (vm: VirtualMachineScaleSetVM): boolean =>
    idOf(vm) > open.after && !orders.has(idOf(vm)) && (vm.timeCreated?.getTime() ?? Infinity) > open.since - skewMs;
  const fresh = vms.filter(isFresh).sort((a, b) => idOf(a) - idOf(b));
  const heir = fresh.find((vm) => !isGoing(vm));
  // One that goes already is it only where no other can come any more.
  return heir ?? (isShort({ size, vms }) ? undefined : fresh[0]);
}

/** Whoever gave it: an order that nobody asks about any more must not be in the way of all that come after it. */
function stepOf(sight: Sight, open: OpenOrder): Step {
  const heir = heirOf(sight);
  if (heir) {
    const says = heir.provisioningState?.toLowerCase() === "failed" ? lackIn(heir.instanceView?.statuses ?? []) : "";
    return says ? { do: "TakeBack", id: idOf(heir), says } : { do: "Bind", id: idOf(heir) };
  }
  // Until then something that is not shown yet could be taken for something that is not there.
  if (sight.now < open.since + lagMs) {
    return { do: "Wait", says: `order "${open.token}" does not have an instance yet` };
  }
  if (sight.lack) return { do: "Withdraw", size: sight.size - (isShort(sight) ? 1 : 0), says: sight.lack };
  // All that it keeps is there: somebody has lowered its size since.
  if (!isShort(sight)) return { do: "Raise" };
  return {
    do: "Wait",
    says: `order "${open.token}" does not have an instance, and the scale set has fewer instances than its size`,
  };
}

function isShort({ size, vms }: Pick<Sight, "size" | "vms">): boolean {
  return vms.filter((vm) => !isGoing(vm)).length < size;
}
