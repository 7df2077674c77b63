/** Brings every node of one NodePool to the image that it asks for, where they stand: the entry by its name on the wire. */
import type { RollOutInput, RollOutResult } from "./contracts/mod.ts";
import { rollOutPool } from "./roll_out_pool.ts";

/** Rolls out one NodePool; its id is `node-pool/<namespace>/<name>`. */
export async function rollOutNodePool(input: RollOutInput): Promise<RollOutResult> {
  return await rollOutPool(input);
}
