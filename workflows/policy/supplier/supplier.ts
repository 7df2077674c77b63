/**
 * What the owner of a pool's machines does by itself, in pure functions: the one thing of a backend that planning has to
 * know. Waves, windows, budgets, blocks and gates are the same for all and see no more of it than these answers.
 *
 * A newcomer that waits to be admitted (phase Held) may be a machine that was made and is held, or paper: a record with a
 * token, which admission turns into an order. To the planner they are one.
 */
import type { Desired, Member, PoolSnapshot } from "../../contracts/mod.ts";

/** How a machine can be brought to another template. */
export type Update = "Replace" | "InPlace";

/** What a backend can do, as data: what it cannot do is never asked of it. */
export interface Capabilities {
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
export interface Move {
  /** Newcomers of the target template that come up, held or as paper; below 0 when there are more than are wanted. */
  makes: number;
  /** How many machines each old batch gives up. */
  takes: number[];
}

/** How many machines are wanted, and how many may be there above. */
export type Wanted = Pick<Desired, "replicas" | "surge">;

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
