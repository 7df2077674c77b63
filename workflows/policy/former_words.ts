/** Words of policies that are others by now; the rules that runs and their recorded histories hold still have them. */
import type { Rules } from "../contracts/mod.ts";

/** Who cannot be drained in time is set aside. */
export function setsAside({ onBlocked }: Pick<Rules["drain"], "onBlocked">): boolean {
  return ["SetAside", "Quarantine"].includes(onBlocked);
}

/** A change that failed is taken back. */
export function rollsBack({ onFailure }: Pick<Rules, "onFailure">): boolean {
  return ["Rollback", "RollBack"].includes(onFailure);
}
