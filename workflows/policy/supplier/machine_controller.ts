/** machine-controller (1.66): rolls a MachineDeployment by itself, over MachineSets of which each has one template. */
import type { Member } from "../../contracts/mod.ts";
import type { Batch, Move, Supplier, SupplierView, Wanted } from "./supplier.ts";

/** Its rules, as far as a planner has to reckon with them. */
export const machineController: Supplier = {
  title: "machine-controller",
  capabilities: { updates: ["Replace"], removal: "ByItself", makesUpForAside: true },
  roomOf: ({ surge }) => surge,
  owedOf,
  nextOf,
  isEnoughReady,
  moveOf,
};

// While it rolls it keeps as many machines as are wanted and the surge; of which set is for it to say.
function owedOf({ desired, pool, repairing }: SupplierView): number {
  const { machines, leaving, updated, old } = pool.counts;
  const isOld = ({ templateHash }: Member): boolean => templateHash !== desired.templateHash;
  if (updated < desired.replicas) {
    const isRolling = old > 0 || pool.leaving.some(isOld);
    return isRolling ? Math.max(0, desired.replicas + desired.surge - (machines - leaving)) : 0;
  }
  return pool.leaving.filter((each) => isOld(each) && repairing.includes(each.id)).length;
}

/**
 * It takes machines that serve from the oldest of the old sets first, whatever is marked in others
 * (`scaleDownOldMachineSetsForRollingUpdate`); those that do not serve it takes from any (`cleanupUnhealthyReplicas`).
 */
function nextOf(mayGo: readonly Member[]): (member: Member) => boolean {
  const oldest = mayGo.reduce<Member | undefined>((found, each) => {
    return found && found.since <= each.since ? found : each;
  }, undefined);
  return ({ phase, templateHash }) => phase !== "Ready" || !oldest || templateHash === oldest.templateHash;
}

// For each old machine that is not Ready it may yet remove any other of its set, Ready or not: each asks for one more.
function isEnoughReady({ pool, desired }: SupplierView): boolean {
  const { ready, updatedReady, old } = pool.counts;
  const unsound = old - (ready - updatedReady);
  return ready - unsound >= desired.replicas;
}

/**
 * One rolling step: the new set grows up to the surge, or shrinks to what is wanted; then old sets give up what is not available, and what is above
 * the least. Without surge its unavailable number is 1: one goes before another comes, and nobody was asked which.
 */
function moveOf(
  { replicas, surge }: Wanted,
  { old, target }: { old: readonly Batch[]; target: Batch },
): Move {
  const size = target.size + sum(old, ({ size }) => size);
  const room = Math.max(0, replicas + surge - size);
  const least = surge === 0 ? Math.max(0, replicas - 1) : replicas;
  const left = { spare: size - least - (target.size - target.ready) };
  const unavailable = old.map(({ size, ready }) => takeFrom(left, size - ready));
  left.spare = Math.min(left.spare, target.ready + sum(old, ({ ready }) => ready) - least);
  const takes = old.map(({ size }, nth) => {
    const gone = unavailable[nth] ?? 0;
    return gone + takeFrom(left, size - gone);
  });
  return { makes: Math.min(room, replicas - target.size), takes };
}

function takeFrom(left: { spare: number }, most: number): number {
  const taken = Math.max(0, Math.min(left.spare, most));
  left.spare -= taken;
  return taken;
}

function sum(batches: readonly Batch[], of: (batch: Batch) => number): number {
  return batches.reduce((total, each) => total + of(each), 0);
}
