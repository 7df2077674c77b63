/**
 * Decides the next step of an order from one snapshot of a scale set; pure. Each step is written only if the set still
 * has the state of the snapshot, so an interrupted or concurrent order continues from a valid state.
 */
import type { VirtualMachineScaleSetVM } from "@azure/arm-compute";
import { idOf } from "./instance_of.ts";
import type { Notes, OpenOrder } from "./notes.ts";
import { isGoing, lackIn } from "./scale_sets.ts";

/** A snapshot of a scale set: the notes in its tags, its size and its instances. */
export interface Sight {
  notes: Notes;
  size: number;
  vms: VirtualMachineScaleSetVM[];
  /** The cause if the set cannot create instances for lack of capacity; else "". */
  lack: string;
  now: number;
}

export type Step =
  /** Return the instance of the order to its caller. */
  | { do: "Tell"; id: number }
  /** Bind: record the instance of the open order, which is being deleted or was created late. */
  | { do: "Bind"; id: number }
  /** Condemn: record that the instance of the caller's own order failed for lack of capacity. */
  | { do: "Condemn"; id: number; code: string }
  /** TakeBack: delete an instance that was recorded as failed, and end its order once it is being deleted. */
  | { do: "TakeBack"; id: number; says: string }
  /** Withdraw: end the open order without an instance, and if the set lacks an instance, reduce its size by one. */
  | { do: "Withdraw"; size: number; says: string }
  | { do: "Wait"; says: string }
  /** Raise: place the order, and record the instance of the previous order in the same request. */
  | { do: "Raise"; bound?: number };

/** Milliseconds after an order in which Azure may not list its instance. */
export const lagMs = 120_000;

/**
 * Milliseconds after which another caller's order counts as complete or abandoned: it is not withdrawn any more,
 * because its instance may be in use.
 */
const openMs = 3_600_000;

/** Maximum difference between clocks, in milliseconds. */
const skewMs = 600_000;

export function nextStep(sight: Sight, token: string): Step {
  const { notes: { open, orders } } = sight;
  const known = [...orders].find(([, each]) => each === token);
  if (known) return { do: "Tell", id: known[0] };
  return open ? stepOf(sight, open, token) : { do: "Raise" };
}

/**
 * Returns the instance of the open order: one that was created after it, and at most `latestMs` later. Undefined
 * without an open order, or if Azure lists no such instance yet. An order stays open until the next one, so a much
 * later instance belongs to another client.
 */
export function heirOf(
  { notes, size, vms }: Pick<Sight, "notes" | "size" | "vms">,
  latestMs = openMs,
): VirtualMachineScaleSetVM | undefined {
  const { open, orders } = notes;
  if (!open) return undefined;
  // Checks the creation time too, because `after` may be too low: a list of many pages may have missed the highest id.
  const isFresh = (vm: VirtualMachineScaleSetVM): boolean => {
    const made = vm.timeCreated?.getTime() ?? open.since;
    const isInTime = made > open.since - skewMs && made < open.since + latestMs;
    return isInTime && idOf(vm) > open.after && !orders.has(idOf(vm));
  };
  const fresh = vms.filter(isFresh).sort((a, b) => idOf(a) - idOf(b));
  const heir = fresh.find((vm) => !isGoing(vm));
  // An instance that is being deleted counts only if the set is full without it: else Azure creates another instance.
  return heir ?? (isShort({ size, vms }) ? undefined : fresh[0]);
}

/**
 * Returns the next step to complete the open order, even if another caller placed it, because an abandoned order would
 * block all later ones. An order stays open until the request for the next order closes it: this saves an update of the
 * set, which would compete with updates of other clients.
 */
function stepOf(sight: Sight, open: OpenOrder, token: string): Step {
  if (open.failed) {
    const { id, code } = open.failed;
    return { do: "TakeBack", id, says: `${code}: instance ${id} failed` };
  }
  const heir = heirOf(sight);
  const isOwn = open.token === token;
  const isRecent = isOwn || sight.now < open.since + openMs;
  if (heir) {
    // Condemns only an instance of the caller's own order: the caller of another order may know its instance, and then
    // removes that instance itself.
    const isFailed = isOwn && heir.provisioningState?.toLowerCase() === "failed";
    const [code = ""] = (isFailed ? lackIn(heir.instanceView?.statuses ?? []) : "").split(":");
    if (code) return { do: "Condemn", id: idOf(heir), code };
    if (isGoing(heir)) return { do: "Bind", id: idOf(heir) };
    return isOwn ? { do: "Tell", id: idOf(heir) } : { do: "Raise", bound: idOf(heir) };
  }
  // The instance may exist, although Azure does not list it yet.
  if (sight.now < open.since + lagMs) {
    return { do: "Wait", says: `order "${open.token}" does not have an instance yet` };
  }
  const late = isOwn ? heirOf(sight, Infinity) : undefined;
  // The open order is the caller's own and has no instance yet, so an instance that Azure created more than `openMs`
  // after the order counts as its instance.
  if (late) return { do: "Bind", id: idOf(late) };
  if (sight.lack && isRecent) return { do: "Withdraw", size: sight.size - (isShort(sight) ? 1 : 0), says: sight.lack };
  // The set has as many instances as its size, so another client has lowered the size since the order.
  if (!isShort(sight)) return { do: "Raise" };
  return {
    do: "Wait",
    says: `order "${open.token}" does not have an instance, and the scale set has fewer instances than its size`,
  };
}

function isShort({ size, vms }: Pick<Sight, "size" | "vms">): boolean {
  return vms.filter((vm) => !isGoing(vm)).length < size;
}
