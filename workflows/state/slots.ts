/** Slots of the budget that all pools share. */
import type { CarriedSlots } from "../contracts/mod.ts";

export interface Slots extends CarriedSlots {
  /** Number of requests in a row that got no slot. */
  tries: number;
  /** When the pool first asked for the slot that it waits for (epoch ms); undefined if it waits for none. */
  since: number | undefined;
}

/** Returns the state without slots. */
export function freshSlots(): CarriedSlots {
  return { held: [], isUnanswered: false };
}

/** Continues with the slots of the previous run. */
export function openSlots(carried: CarriedSlots): Slots {
  return { ...carried, tries: 0, since: undefined };
}
