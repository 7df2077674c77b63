/** Brings every machine of one scaling group to what its NodeVersion asks for: the entry by its name on the wire. */
import type { RollOutInput, RollOutResult } from "./contracts/mod.ts";
import { rollOutPool } from "./roll_out_pool.ts";

/** Rolls out one ScalingGroup; its id is `scaling-group/<name>`. */
export async function rollOutScalingGroup(input: RollOutInput): Promise<RollOutResult> {
  return await rollOutPool(input);
}
