/**
 * How machine-controller (1.66) rolls its MachineSets, translated from machine-controller's code
 * (`machinedeployment/rolling.go`). The simulation does not use the planner's model of machine-controller
 * (`workflows/policy/supplier.ts`), because the tests could then not find errors of that model.
 */

/** The desired number of machines of one template, and how many of its machines are available. */
export interface MachineSet {
  replicas: number;
  readonly available: number;
}

/** The numbers of a MachineDeployment; its `maxUnavailable` is 0. */
export interface Deployment {
  readonly replicas: number;
  readonly surge: number;
}

/** Changes the replicas of all sets as one reconcile does; `old` is ordered from the oldest set to the youngest. */
export function rollSets(deployment: Deployment, newest: MachineSet, old: readonly MachineSet[]): void {
  newest.replicas = replicasOfNewest(deployment, newest, old);
  if (total(old, "replicas") === 0) return;
  const all = [...old, newest];
  const leastAvailable = deployment.replicas - mostUnavailable(deployment);
  const most = total(all, "replicas") - leastAvailable - (newest.replicas - newest.available);
  if (most <= 0) return;
  removeUnavailable(old, most);
  removeAvailable(old, total(all, "available") - leastAvailable);
}

/**
 * Returns the replicas of the newest set, as machine-controller's `NewMSNewReplicas`; shrinks a set that is too large.
 */
function replicasOfNewest({ replicas, surge }: Deployment, newest: MachineSet, old: readonly MachineSet[]): number {
  if (newest.replicas >= replicas) return replicas;
  const room = replicas + surge - newest.replicas - total(old, "replicas");
  return room <= 0 ? newest.replicas : Math.min(replicas, newest.replicas + room);
}

/**
 * Returns machine-controller's `MaxUnavailable`: if the surge is 0, one machine may be unavailable, because no rollout
 * could begin otherwise.
 */
function mostUnavailable({ replicas, surge }: Deployment): number {
  return Math.min(replicas, surge === 0 ? 1 : 0);
}

/** Removes at most `most` unavailable machines of old sets, as machine-controller's `cleanupUnhealthyReplicas`. */
function removeUnavailable(old: readonly MachineSet[], most: number): void {
  let removed = 0;
  for (const set of old) {
    if (removed >= most) return;
    const count = Math.min(most - removed, Math.max(0, set.replicas - set.available));
    set.replicas -= count;
    removed += count;
  }
}

/** Removes at most `most` machines of old sets, as machine-controller's `scaleDownOldMachineSetsForRollingUpdate`. */
function removeAvailable(old: readonly MachineSet[], most: number): void {
  let removed = 0;
  for (const set of old) {
    if (removed >= most) return;
    const count = Math.min(most - removed, set.replicas);
    set.replicas -= count;
    removed += count;
  }
}

function total(sets: readonly MachineSet[], of: keyof MachineSet): number {
  return sets.reduce((sum, set) => sum + set[of], 0);
}
