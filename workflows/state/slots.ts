/** Places of the budget that all pools share. */
import type { CarriedSlots } from "../contracts/mod.ts";

export interface Slots extends CarriedSlots {
  /** How often in a row all were taken. */
  tries: number;
}

/** None. */
export function freshSlots(): CarriedSlots {
  return { held: [] };
}

/** Goes on with those that the run before had. */
export function openSlots(carried: CarriedSlots): Slots {
  return { ...carried, tries: 0 };
}
