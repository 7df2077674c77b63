/** Slots of the budget that all pools share. */
import type { CarriedSlots } from "../contracts/mod.ts";

export interface Slots extends CarriedSlots {
  /** How often in a row all slots were taken. */
  tries: number;
}

/** Returns the state without slots. */
export function freshSlots(): CarriedSlots {
  return { held: [] };
}

/** Continues with the slots of the previous run. */
export function openSlots(carried: CarriedSlots): Slots {
  return { ...carried, tries: 0 };
}
