/**
 * The actions that the owner of a pool's machines (machine-controller, a scaling group or a NodePool) takes by itself,
 * as pure functions: the only part of a backend that the planner knows. Waves, windows, budgets, blocks and gates are
 * the same for all backends; these functions are the only difference.
 *
 * A new machine that waits to be admitted (phase Held) may already exist and be held, or may be only a pending record
 * with a token: then its admission orders the machine from the cloud. The planner treats both alike.
 */
import type { Desired, Member, PoolKind, PoolSnapshot } from "../contracts/mod.ts";

/** How a machine can be updated to a new template. */
type Update = "Replace" | "InPlace";

/** The only capabilities of a backend that the planner uses. */
interface Capabilities {
  readonly updates: readonly Update[];
  /**
   * ByItself: the owner removes a machine once a new one replaces it, and prefers machines that Ostler marked; Ostler
   * holds, drains and releases them. WhenTold: only Ostler removes machines.
   */
  readonly removal: "ByItself" | "WhenTold";
  /**
   * Whether the owner creates an extra machine for each machine that Ostler set aside because it could not be drained;
   * otherwise the machines set aside use up the surge.
   */
  readonly makesUpForAside: boolean;
}

/** The input of the owner's rules: the desired state, the current machines, and the machines being repaired. */
export interface SupplierView {
  desired: Desired;
  pool: PoolSnapshot;
  repairing: readonly string[];
}

/**
 * Number of machines of one template that are not leaving, and how many of them are Ready and have passed their gates.
 */
export interface Batch {
  size: number;
  ready: number;
}

/** One step that the owner of the machines takes by itself. */
interface Move {
  /** Number of new machines of the target template, held or pending; negative if there are more than the replicas. */
  makes: number;
  /** Number of machines removed from each old batch. */
  takes: number[];
}

/** Number of replicas, and of machines that may exist above them. */
type Wanted = Pick<Desired, "replicas" | "surge">;

/** The rules of the owner of a pool's machines: how it creates and removes them, as far as plans depend on it. */
export interface Supplier {
  /** Name of the owner, for people. */
  readonly title: string;
  readonly capabilities: Capabilities;
  /** Returns how many machines may exist above the replicas; if 0, an old machine is removed before a new one joins. */
  roomOf(desired: Desired): number;
  /**
   * Returns how many machines the owner is expected to create that boot without admission; they may have an old
   * template.
   */
  owedOf(view: SupplierView): number;
  /**
   * Returns a test for the machines of `mayGo` that the owner would remove next by its own rules; Ostler chooses among
   * these.
   */
  nextOf(mayGo: readonly Member[]): (member: Member) => boolean;
  /**
   * Returns whether enough machines are Ready and have passed their gates to release the leaving machines, even if the
   * owner then removes machines other than these by its own rules.
   */
  isEnoughReady(view: SupplierView): boolean;
  /** Returns the next step of the owner; `old` is ordered from the oldest batch to the youngest. */
  moveOf(desired: Wanted, batches: { old: readonly Batch[]; target: Batch }): Move;
}

// machine-controller (1.66) rolls a MachineDeployment by itself, with one MachineSet for each template.

/** Rules of machine-controller, as far as they affect the planner. */
export const machineController: Supplier = {
  title: "machine-controller",
  capabilities: { updates: ["Replace"], removal: "ByItself", makesUpForAside: true },
  roomOf: ({ surge }) => surge,
  owedOf,
  nextOf,
  isEnoughReady,
  moveOf,
};

// While machine-controller rolls, it keeps replicas plus surge machines, and decides in which MachineSet it adds them.
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
 * machine-controller removes Ready machines from the oldest MachineSet first, even if machines of other MachineSets are
 * marked (`scaleDownOldMachineSetsForRollingUpdate`). It removes machines that are not Ready from any MachineSet
 * (`cleanupUnhealthyReplicas`).
 */
function nextOf(mayGo: readonly Member[]): (member: Member) => boolean {
  const oldest = mayGo.reduce<Member | undefined>((found, each) => {
    return found && found.since <= each.since ? found : each;
  }, undefined);
  return ({ phase, templateHash }) => phase !== "Ready" || !oldest || templateHash === oldest.templateHash;
}

// In place of an old machine that is not Ready, machine-controller may remove a Ready machine of the same MachineSet.
// So for each old machine that is not Ready, one more machine must be Ready.
function isEnoughReady({ pool, desired }: SupplierView): boolean {
  const { ready, updatedReady, old } = pool.counts;
  const unsound = old - (ready - updatedReady);
  return ready - unsound >= desired.replicas;
}

/**
 * Returns one rolling step: the new MachineSet grows up to the surge, or shrinks to the replicas; then old MachineSets
 * lose unavailable machines, and machines above the minimum. Without surge maxUnavailable is 1: machine-controller
 * removes an old machine, of its own choice, before it adds a new one.
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

// A scaling group of a cloud keeps as many machines as its size. It boots new machines from its current template in
// place of lost ones, and removes no machine by itself. A missing machine counts as pending until Ostler orders it from
// the cloud.

/** Rules of a scaling group; `surge` is the difference between its maximum size and the replicas. */
export const scalingGroup: Supplier = {
  title: "the scaling group",
  capabilities: { updates: ["Replace"], removal: "WhenTold", makesUpForAside: false },
  roomOf: ({ surge }) => surge,
  owedOf: () => 0,
  nextOf: () => () => true,
  isEnoughReady: ({ pool, desired }) => pool.counts.ready >= desired.replicas,
  moveOf: ({ replicas }, { old, target }) => ({ makes: replicas - target.size, takes: old.map(() => 0) }),
};

// Ostler creates no machines for a NodePool: they exist already and are updated in place.

/** Rules of a NodePool: its replicas are its current machines, and Ostler neither adds nor removes any. */
const nodePool: Supplier = {
  title: "the NodePool",
  capabilities: { updates: ["InPlace"], removal: "ByItself", makesUpForAside: false },
  roomOf: () => 0,
  owedOf: () => 0,
  nextOf: () => () => true,
  isEnoughReady: ({ pool, desired }) => pool.counts.ready >= desired.replicas,
  moveOf: (_, { old }) => ({ makes: 0, takes: old.map(() => 0) }),
};

// The state of a run has only the kind of its pool, and not these rules, so that the state stays plain JSON.

const suppliers: Record<PoolKind, Supplier> = {
  MachineDeployment: machineController,
  ScalingGroup: scalingGroup,
  NodePool: nodePool,
};

/** Returns the rules of the owner of a kind of pool; the default kind is MachineDeployment. */
export function supplierOf(kind: PoolKind = "MachineDeployment"): Supplier {
  return suppliers[kind];
}
