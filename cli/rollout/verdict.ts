/** Whether a rollout has ended, and how; `status -w` and `--wait` wait until it has ended. */
import { conditionOf, type PoolRow } from "./pool_row.ts";

export type Verdict = "UnderWay" | "Ready" | "Failed";

/**
 * Returns "Failed" if the rollout is halted, rolled back or aborted, and "Ready" if condition Ready is True. Returns
 * "UnderWay" otherwise, and always until the Rollout shows the current generation of the MachineDeployment.
 */
export function verdictOf({ generation, status }: PoolRow): Verdict {
  if (status === undefined || status.observedGeneration < generation) return "UnderWay";
  if (["Halted", "RolledBack", "Aborted"].includes(status.phase)) return "Failed";
  return conditionOf(status, "Ready")?.status === "True" ? "Ready" : "UnderWay";
}

/** Returns a text of the fields whose changes `status -w` prints: a pool is printed again when this text changes. */
export function newsKey({ status }: PoolRow): string {
  if (status === undefined) return "";
  const { phase, message, updated, failedMachines, blockedReason, wave, paused } = status;
  return JSON.stringify([phase, message, updated, failedMachines, blockedReason, wave, paused]);
}
