/**
 * What the owner of a pool's machines does by itself, in pure functions: the one thing of a backend that planning has to
 * know. Waves, windows, budgets, blocks and gates are the same for all and see no more of it than these answers.
 *
 * A newcomer that waits to be admitted (phase Held) may be a machine that was made and is held, or paper: a record with a
 * token, which admission turns into an order. To the planner they are one.
 */
import type { Desired, Member, PoolKind, PoolSnapshot } from "../contracts/mod.ts";

/** How a machine can be brought to another template. */
type Update = "Replace" | "InPlace";

/** What a backend can do, as data: what it cannot do is never asked of it. */
interface Capabilities {
  readonly updates: readonly Update[];
  /**
   * ByItself: once others stand in their place it removes machines, the chosen ones first, and we only hold, drain and
   * let go. WhenTold: none goes before we say so; then the planner says which, by the same rules.
   */
  readonly removal: "ByItself" | "WhenTold";
  /** What is set aside is made up for by others beside it; else it uses up the room. */
  readonly makesUpForAside: boolean;
}

/** What is asked about: what is wanted, what is there, and who is being repaired. */
export interface SupplierView {
  desired: Desired;
  pool: PoolSnapshot;
  repairing: readonly string[];
}

/** The machines of one template that stay, and how many of them serve and are proven. */
export interface Batch {
  size: number;
  ready: number;
}

/** One move of its own. */
interface Move {
  /** Newcomers of the target template that come up, held or as paper; below 0 when there are more than are wanted. */
  makes: number;
  /** How many machines each old batch gives up. */
  takes: number[];
}

/** How many machines are wanted, and how many may be there above. */
type Wanted = Pick<Desired, "replicas" | "surge">;

export interface Supplier {
  /** Who people wait for. */
  readonly title: string;
  readonly capabilities: Capabilities;
  /** Machines that may be there above the wanted ones while some are replaced; with none, one goes before another comes. */
  roomOf(desired: Desired): number;
  /** Machines it is about to make that boot unasked, maybe of an old template. */
  owedOf(view: SupplierView): number;
  /** Of the old machines that may go: who can be the next one, whatever we choose. */
  nextOf(mayGo: readonly Member[]): (member: Member) => boolean;
  /** Enough others are proven for those to go that are on their way out, whatever else it may remove by itself. */
  isEnoughReady(view: SupplierView): boolean;
  /** What it does next by itself; `old` from the oldest batch to the youngest. */
  moveOf(desired: Wanted, batches: { old: readonly Batch[]; target: Batch }): Move;
}

// machine-controller (1.66): rolls a MachineDeployment by itself, over MachineSets of which each has one template.

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

// A scaling group of a cloud: it keeps as many machines as its size says, makes up for those that it loses from what it boots
// now, and removes none by itself. Newcomers are paper until they are ordered.

/** Its rules; `surge` is what its most leaves above the wanted number. */
export const scalingGroup: Supplier = {
  title: "the scaling group",
  capabilities: { updates: ["Replace"], removal: "WhenTold", makesUpForAside: false },
  roomOf: ({ surge }) => surge,
  owedOf: () => 0,
  nextOf: () => () => true,
  isEnoughReady: ({ pool, desired }) => pool.counts.ready >= desired.replicas,
  moveOf: ({ replicas }, { old, target }) => ({ makes: replicas - target.size, takes: old.map(() => 0) }),
};

// Nobody makes the machines of a NodePool: they are there, and are updated where they stand.

/** Its rules: as many are wanted as there are, and none ever comes or goes on our account. */
const nodePool: Supplier = {
  title: "the NodePool",
  capabilities: { updates: ["InPlace"], removal: "ByItself", makesUpForAside: false },
  roomOf: () => 0,
  owedOf: () => 0,
  nextOf: () => () => true,
  isEnoughReady: ({ pool, desired }) => pool.counts.ready >= desired.replicas,
  moveOf: (_, { old }) => ({ makes: 0, takes: old.map(() => 0) }),
};

// Finds the supplier of a pool by the pool's kind, so that state names it and stays plain JSON.

const suppliers: Record<PoolKind, Supplier> = {
  MachineDeployment: machineController,
  ScalingGroup: scalingGroup,
  NodePool: nodePool,
};

/** Who supplies a pool of that kind; absent is a MachineDeployment. */
export function supplierOf(kind: PoolKind = "MachineDeployment"): Supplier {
  return suppliers[kind];
}
