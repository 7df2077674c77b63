/** Finds rollouts without a machine in progress, so that autoscalers may remove machines of their pools again. */

/** Phases in which no machine of a rollout is in progress; a halted rollout may have machines in progress. */
const endings = ["Converged", "RolledBack", "Aborted", "Deleting"];
/** Reasons for which a rollout may wait for days, during which an autoscaler may remove machines of the pool. */
const reasons = [
  ...["OutsideWindow", "Paused", "AwaitingApproval"],
  // With one of these reasons Ostler cannot roll the pool, so it does not restrict the pool's autoscaler either.
  ...["CloudRefused", "GroupClaimedTwice", "ControlPlaneRefused", "ObjectInvalid"],
];

/** Returns whether a rollout has ended, by the phase in its status. */
export function isEnded(phase: unknown): boolean {
  return endings.includes(String(phase));
}

/** Returns whether a rollout has ended, or waits for one of `reasons` without a machine in progress, by its status. */
export function isAtRest(
  { phase, reason, underway }: { phase?: string | undefined; reason?: unknown; underway?: unknown },
): boolean {
  if (isEnded(phase)) return true;
  return reasons.includes(String(reason)) && Array.isArray(underway) && underway.length === 0;
}
