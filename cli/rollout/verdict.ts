/** Whether a rollout has ended, and how: what `status -w` and `--wait` wait for. */
import { conditionOf, type PoolRow } from "./pool_row.ts";

export type Verdict = "UnderWay" | "Ready" | "Failed";

/** Ready only for what the MachineDeployment asks for now; halted, rolled back and aborted ones have failed. */
export function verdictOf({ generation, status }: PoolRow): Verdict {
  if (status === undefined || status.observedGeneration < generation) return "UnderWay";
  if (["Halted", "RolledBack", "Aborted"].includes(status.phase)) return "Failed";
  return conditionOf(status, "Ready")?.status === "True" ? "Ready" : "UnderWay";
}

/** A text that changes when something happened that a person who watches wants to know. */
export function newsKey({ status }: PoolRow): string {
  if (status === undefined) return "";
  const { phase, message, updated, failedMachines, blockedReason, wave, paused } = status;
  return JSON.stringify([phase, message, updated, failedMachines, blockedReason, wave, paused]);
}
