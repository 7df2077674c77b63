/**
 * Slots of the budget that all pools share: the run takes a slot before a replacement begins, and gives it back when
 * the old machine is gone.
 */
import { patched } from "@temporalio/workflow";
import type { BudgetName, Desired, Member, SlotAnswer, Urgency } from "../contracts/mod.ts";
import type { Blocked } from "../policy/turn.ts";
import { supplierOf } from "../policy/supplier.ts";
import { patches } from "../patches.ts";
import { write } from "../proxies.ts";
import type { Part, Seen } from "../state/rollout.ts";
import { busyWith } from "../state/tasks.ts";
import { troubleOf } from "../state/trouble.ts";

/** The pause before the next request to a full budget (ms), which doubles each time, because many pools can wait. */
const askAgainMs = { first: 15_000, most: 120_000 };

interface SlotOrder {
  machine: string;
  limit: number;
  /** The machine is already out of service. */
  begun?: boolean;
  /** Since when the pool waits for a slot (epoch ms). */
  since?: number;
}

type Sharing = Seen<"settings" | "target" | "machines" | "tasks"> & Part<"slots">;

/**
 * Takes a slot for a machine. Returns undefined if the machine has a slot now or needs none, otherwise why it got none.
 * A machine that is already out of service (`begun`) takes a free slot before all pools that wait for one.
 */
export async function takeSlot(
  rollout: Sharing,
  machine: string,
  { begun = false }: { begun?: boolean } = {},
): Promise<Blocked | undefined> {
  const { target, slots } = rollout;
  const limit = target.desired?.isControlPlane ? 1 : target.rules?.budget.cluster ?? null;
  if (limit === null || slots.held.includes(machine) || hasReserved(rollout)) return undefined;
  const since = slots.since ?? Date.now();
  const order: SlotOrder = { machine, limit, ...(begun ? { begun } : { since }) };
  let answer: SlotAnswer;
  let isAsking = true;
  // `ask` does not catch its own errors: a wrapper around an order would delay the answer by a microtask, and so change
  // the sequence of events in recorded histories.
  try {
    answer = await ask(rollout, order);
    if (!answer.taken && adoptSlots(rollout, answer.holders) === "Adopted") {
      isAsking = false;
      await giveBackSlots(rollout);
      isAsking = true;
      answer = await ask(rollout, order);
    }
  } catch (error) {
    if (isAsking) noteUnanswered(rollout, order, error);
    throw error;
  }
  const { taken, holders, ahead } = answer;
  if (taken) {
    Object.assign(slots, { tries: 0, since: undefined });
    return void slots.held.push(machine);
  }
  if (!begun) slots.since = since;
  // A pool that gets the next free slot asks often, so that the slot does not stay free.
  if (ahead !== undefined && ahead < limit) slots.tries = 0;
  const pause = Math.min(askAgainMs.most, askAgainMs.first * 2 ** slots.tries++);
  return { reason: "ClusterBudget", message: messageOf(target, limit, { holders, ahead }), until: Date.now() + pause };
}

/** Returns the message for a pool that got no slot; `limit` is the number of slots in the budget. */
export function messageOf(
  { desired }: Pick<Seen["target"], "desired">,
  limit: number,
  { holders, ahead = 0 }: Pick<SlotAnswer, "holders"> & { ahead?: number | undefined },
): string {
  const first = holders.slice(0, 3);
  const by = first.join(", ");
  const before = ahead > 0 ? `; ${ahead === 1 ? "1 pool gets" : `${ahead} pools get`} a slot first` : "";
  if (holders.length === 0) return `Waiting for a slot of the shared budget${before}`;
  if (desired?.isControlPlane) {
    return `Only one control plane can be out of service at a time: ${by} has the slot${before}`;
  }
  if (holders.length < limit && ahead > 0) {
    return `Waiting for a slot of the shared budget${before}; the other slots are taken by ${by}`;
  }
  if (limit === 1) return `The only slot of the shared budget is taken, by ${by}${before}`;
  // The number comes from the limit and not from `holders`, so that the message changes exactly when it did in earlier
  // versions: any other change would cause a report that recorded histories do not contain.
  const rest = limit > first.length ? ` and ${limit - first.length} more` : "";
  return `All ${limit} slots of the shared budget are taken, by ${by}${rest}${before}`;
}

function ask(
  { settings: { pool }, target }: Seen<"settings" | "target">,
  order: SlotOrder,
): Promise<SlotAnswer> {
  const summary = `Take a slot of the shared budget for ${order.machine}`;
  return write.ensureSlotTaken.executeWithOptions({ summary }, [
    { pool, ...order, ...budgetOf(target), ...urgencyOf(target) },
  ]);
}

/** Records that a request may have taken a slot although it got no answer. */
function noteUnanswered({ slots }: Part<"slots">, { begun }: SlotOrder, error: unknown): void {
  // Only a refused request has surely taken no slot. The slot of a machine that is out of service already must not be
  // given back, because another pool could take it.
  const isSpare = begun !== true && troubleOf(error).kind !== "halt";
  if (isSpare && patched(patches.unansweredSlot)) slots.isUnanswered = true;
}

function urgencyOf({ rules }: Seen["target"]): { urgency?: Urgency } {
  const urgency = rules?.budget.urgency;
  return urgency === undefined ? {} : { urgency };
}

/**
 * Control planes have a budget of their own, so that only one of a cluster is out of service at a time, even if other
 * machines are out or a policy allows more.
 */
function budgetOf({ desired }: Seen["target"]): { of?: BudgetName } {
  return desired?.isControlPlane ? { of: "ControlPlanes" } : {};
}

/** Takes over slots of this pool that an earlier run had no time to give back. */
function adoptSlots(
  { settings: { pool }, slots }: Seen<"settings"> & Part<"slots">,
  holders: string[],
): "Adopted" | "NoneLeft" {
  const own = `${pool.namespace}/${pool.name}/`;
  const left = holders.filter((holder) => holder.startsWith(own)).map((holder) => holder.slice(own.length));
  const unknown = left.filter((machine) => !slots.held.includes(machine));
  slots.held = [...unknown, ...slots.held];
  return unknown.length > 0 ? "Adopted" : "NoneLeft";
}

/**
 * Gives back the slots of replacements that have ended, and a slot that was requested without an answer; with `all`,
 * gives back every slot of the pool.
 */
export async function giveBackSlots(rollout: Sharing, all = false): Promise<void> {
  const { settings: { pool }, slots, target } = rollout;
  const keep = all ? [] : keptOf(rollout);
  if (keep.length === slots.held.length && !slots.isUnanswered) return;
  await write.ensureSlotsKept.executeWithOptions({ summary: "Give back slots of the shared budget" }, [
    { pool, machines: keep, ...budgetOf(target) },
  ]);
  slots.held = keep;
  slots.isUnanswered = false;
}

// Returns the slots to keep. A slot for an update in place is stored under the name of the updated machine. A slot for
// a replacement belongs to no particular machine, so as many slots are kept as there are replacements in progress.
function keptOf(rollout: Sharing): string[] {
  const { settings: { pool }, machines, slots } = rollout;
  if (!supplierOf(pool.kind).capabilities.updates.includes("Replace")) {
    return slots.held.filter((machine) => machine in machines.updating);
  }
  const out = outOf(rollout);
  return out === 0 ? [] : slots.held.slice(-out);
}

/** Returns whether the pool has a slot that was reserved for a machine that is being recreated. */
function hasReserved(rollout: Sharing): boolean {
  const reserved = reservedOf(rollout);
  return reserved > 0 && rollout.slots.held.length > outOf(rollout, { reserved: 0 });
}

// Each recreated machine waits for another machine to take its place, as the pending retries count.
function reservedOf({ machines: { retries }, slots: { reservedUntil } }: Seen<"machines" | "slots">): number {
  return Date.now() < reservedUntil ? retries.length : 0;
}

/** Counts the replacements in progress, as far as the snapshot shows them, and the reserved slots. */
function outOf(
  rollout: Seen<"settings" | "target" | "machines" | "tasks" | "slots">,
  { reserved = reservedOf(rollout) }: { reserved?: number } = {},
): number {
  const { settings: { pool }, target: { desired }, machines } = rollout;
  const joining = Object.keys(machines.booting).length + reserved;
  if (desired?.isControlPlane) return Math.max(joining, outOfPlanes(rollout, desired));
  const isBare = desired !== undefined && supplierOf(pool.kind).roomOf(desired) === 0;
  return Math.max(joining, isBare ? missingOf(rollout, desired) : goingOf(rollout));
}

/** Counts control planes that are being repaired or removed, or that are missing until another has joined. */
function outOfPlanes(rollout: Seen<"target" | "machines" | "tasks">, { replicas }: Desired): number {
  const { machines: { snapshot }, tasks } = rollout;
  if (!snapshot) return 0;
  const { machines, held, leaving } = snapshot.counts;
  const missing = Math.max(0, replicas - (machines - held - leaving));
  return Math.max(goingOf(rollout), busyWith(tasks, "repair").length, missing);
}

/**
 * Counts missing machines of a pool without surge: a machine is missing from the start of its drain until another one
 * has joined. A new machine that failed for good has not joined.
 */
function missingOf(rollout: Seen<"machines" | "tasks" | "slots">, { replicas }: Desired): number {
  const { machines: { snapshot, draining, booting }, tasks } = rollout;
  if (!snapshot) return 0;
  const { counts, leaving } = snapshot;
  // The snapshot shows the earlier state of a machine whose task ended since; a machine without a hold, such as a
  // failed new one, no longer serves.
  const isBegun = ({ id, held }: Member): boolean => !held || id in draining || tasks.justEnded.includes(id);
  const begun = leaving.filter(isBegun).length;
  const kept = failedOf(rollout).filter((machine) => !leaving.some(({ id }) => id === machine)).length;
  return Math.max(0, replicas - (counts.machines - counts.held - begun - kept - Object.keys(booting).length));
}

function failedOf({ machines: { failed }, slots: { held } }: Seen<"machines" | "slots">): string[] {
  return held.length > 0 ? failed : [];
}

/**
 * Counts old machines that are being removed, or will be because new machines replace them. An old machine whose new
 * machine failed stays until there is another new machine, and needs no slot meanwhile.
 */
function goingOf({ machines: { snapshot, failed }, target: { desired } }: Seen<"machines" | "target">): number {
  if (!snapshot) return 0;
  const { machines, held, leaving } = snapshot.counts;
  const marked = snapshot.old.filter((member) => member.marked).length;
  const above = Math.max(0, machines - held - leaving - failed.length - (desired?.replicas ?? 0));
  return leaving + Math.min(marked, above);
}
