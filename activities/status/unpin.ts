/** When a profile that was left may be used again. */
import type { Memory, RolloutReport } from "../../workflows/contracts/mod.ts";
import { inputsIn } from "../config/observed.ts";
import type { Pin } from "./pin.ts";
import { quarantineKept } from "./recall.ts";

/** Something else is the last good now, or a person took the change out of quarantine. */
export function isPinOver(pin: Pin | undefined, report: RolloutReport, before: Memory): boolean {
  if (!pin) return false;
  if (report.lastGood && inputsIn(report.lastGood.specHash) !== pin.good) return true;
  return isHeld(pin, before.quarantine) && !isHeld(pin, report.quarantine) &&
    // In a full list it may only have made room for a newer one.
    report.quarantine.length < quarantineKept;
}

function isHeld({ bad }: Pin, quarantine: Memory["quarantine"]): boolean {
  return quarantine.some(({ specHash }) => inputsIn(specHash) === bad);
}
