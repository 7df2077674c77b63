/** What a rollout is started with, and how it ends. */
import type { CarriedState } from "./carried.ts";
import type { PoolRef } from "./pool.ts";
import type { JoinRecord, ReplacementRecord } from "./progress.ts";

/** How long each wait may take, in milliseconds or as "15m"; all of them have documented defaults. */
export interface Deadlines {
  /** machine-controller observes a change and creates or removes the machines it implies. */
  settle: number | string;
  instance: number | string;
  address: number | string;
  registered: number | string;
  ready: number | string;
  drain: number | string;
  gone: number | string;
  /** A halted rollout looks at the world again after this long, even when nothing told it to. */
  recheck: number | string;
}

/** The single argument of `rollOutMachineDeployment`. */
export interface RollOutInput extends PoolRef {
  deadlines?: Partial<Deadlines>;
  /** How often machines that do not join are recreated before the rollout halts. Default 2. */
  attempts?: number;
  /** Only publish, with fresh credentials where they are due; no machine is touched. */
  publishOnly?: boolean;
  /** State of an earlier run of the same chain; written by continue-as-new only. */
  carried?: CarriedState;
}

/** How a run ended. */
export interface RollOutResult {
  outcome: "Converged" | "RolledBack" | "Aborted" | "Published" | "Deleted" | "Gone";
  generation?: number;
  revision?: string;
  image?: string;
  kubelet?: string;
  configDigest?: string;
  replaced: number;
  joins: JoinRecord[];
  replacements: ReplacementRecord[];
}
