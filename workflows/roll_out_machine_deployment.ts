/** Brings every machine of one MachineDeployment to what it asks for: the entry by its name on the wire. */
import type { RollOutInput, RollOutResult } from "./contracts/mod.ts";
import { rollOutPool } from "./roll_out_pool.ts";

/** Rolls out one MachineDeployment; its id is `machine-deployment/<namespace>/<name>`. */
export async function rollOutMachineDeployment(input: RollOutInput): Promise<RollOutResult> {
  return await rollOutPool(input);
}
