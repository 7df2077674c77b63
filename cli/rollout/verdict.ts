/** Whether a rollout has ended, and how; `status -w` and `--wait` wait until it has ended. */
import { conditionOf, type PoolRow } from "./pool_row.ts";

export type Verdict = "UnderWay" | "Ready" | "Failed";

/**
 * Returns "Failed" if the rollout is halted, rolled back or aborted, and "Ready" if condition Ready is True. Returns
 * "UnderWay" otherwise, and always until the Rollout shows the current generation of the MachineDeployment; a scaling
 * group is "Ready" only with the target of its NodeVersion.
 */
export function verdictOf(row: PoolRow): Verdict {
  const { generation, status } = row;
  if (status === undefined || status.observedGeneration < generation) return "UnderWay";
  if (["Halted", "RolledBack", "Aborted"].includes(status.phase)) return "Failed";
  return conditionOf(status, "Ready")?.status === "True" && awaitedVersion(row) === undefined ? "Ready" : "UnderWay";
}

/**
 * Returns the NodeVersion that a scaling group follows, if the target of the group's Rollout differs from the present
 * target of the NodeVersion; undefined if the targets are equal, or if the NodeVersion's target was not read. A changed
 * NodeVersion does not change the generation of its groups.
 */
export function awaitedVersion({ follows, status }: PoolRow): string | undefined {
  const isBehind = follows?.target !== undefined && status?.targetTemplateHash !== follows.target;
  return isBehind ? follows.version : undefined;
}

/** Returns a text of the fields whose changes `status -w` prints: a pool is printed again when this text changes. */
export function newsKey(row: PoolRow): string {
  const { status } = row;
  if (status === undefined) return "";
  const { phase, message, updated, failedMachines, blockedReason, wave, paused } = status;
  return JSON.stringify([phase, message, updated, failedMachines, blockedReason, wave, paused, awaitedVersion(row)]);
}
