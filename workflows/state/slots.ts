/** Slots of the budget that all pools share. */
import type { CarriedSlots } from "../contracts/mod.ts";

export interface Slots extends CarriedSlots {
  /** Number of requests in a row that got no slot. */
  tries: number;
  /** When the pool first asked for the slot that it waits for (epoch ms); undefined if it waits for none. */
  since: number | undefined;
  /**
   * Until when slots without a replacement in progress are kept for machines that are being recreated (epoch ms).
   */
  reservedUntil: number;
}

/** The time in which another machine takes the place of a recreated one (ms), so that it needs no other slot. */
const reservedMs = 300_000;

/** Returns the state without slots. */
export function freshSlots(): CarriedSlots {
  return { held: [], isUnanswered: false };
}

/** Continues with the slots of the previous run. */
export function openSlots(carried: CarriedSlots): Slots {
  return { ...carried, tries: 0, since: undefined, reservedUntil: 0 };
}

/** Keeps the slots of machines that are being recreated for the machines that take their place; `now` is epoch ms. */
export function reserveSlot(slots: Slots, now: number): void {
  slots.reservedUntil = now + reservedMs;
}
