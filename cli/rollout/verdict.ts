/** Whether a rollout has ended, and how; `status -w` and `--wait` wait for that. */
import { conditionOf, type PoolRow } from "./pool_row.ts";

export type Verdict = "UnderWay" | "Ready" | "Failed";

/**
 * Returns "Ready" only for the current generation of the MachineDeployment; halted, rolled back and aborted rollouts
 * have failed.
 */
export function verdictOf({ generation, status }: PoolRow): Verdict {
  if (status === undefined || status.observedGeneration < generation) return "UnderWay";
  if (["Halted", "RolledBack", "Aborted"].includes(status.phase)) return "Failed";
  return conditionOf(status, "Ready")?.status === "True" ? "Ready" : "UnderWay";
}

/** Returns a text that changes with each change that a watching user wants to see. */
export function newsKey({ status }: PoolRow): string {
  if (status === undefined) return "";
  const { phase, message, updated, failedMachines, blockedReason, wave, paused } = status;
  return JSON.stringify([phase, message, updated, failedMachines, blockedReason, wave, paused]);
}
