/**
 * Brings every node of one NodePool to its desired image in place; Temporal knows the workflow by the function's name.
 */
import type { RollOutInput, RollOutResult } from "./contracts/mod.ts";
import { rollOutPool } from "./roll_out_pool.ts";

/** Rolls out one NodePool; its workflow ID is `node-pool/<namespace>/<name>`. */
export async function rollOutNodePool(input: RollOutInput): Promise<RollOutResult> {
  return await rollOutPool(input);
}
