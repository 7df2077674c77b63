/** Input and output of the planner, which workflow runs, `ostler plan` and simulations share. */
import type {
  Amount,
  Boot,
  Desired,
  Member,
  PoolSnapshot,
  Rules,
  Updating,
  WaveCount,
  WaveState,
} from "../contracts/mod.ts";
import type { Supplier } from "./supplier.ts";

/** All facts that decide which steps may begin now. */
export interface Situation {
  /** Epoch ms. */
  now: number;
  /** The owner of the machines, which creates and deletes them; all other fields are plain data. */
  supplier: Supplier;
  desired: Desired;
  rules: Rules;
  pool: PoolSnapshot;
  /** Machines in progress, by step. */
  busy: {
    joining: string[];
    leaving: string[];
    repairing: string[];
    /** Old machines that a joining machine will replace; the pool snapshot may not show their marks yet. */
    victims?: string[];
    /** Machines that fetch their image, and machines that are updated in place. */
    staging?: string[];
    updating?: string[];
  };
  /** Updates in place that have begun, by machine; after a restart some of them have no running task. */
  updatesBegun?: Readonly<Record<string, Updating>>;
  /**
   * Machines that began to boot and have not passed their gates yet. The Ready machines of `pool` among them are
   * unproven: they do not count as Ready.
   */
  booting: Record<string, Boot>;
  /** Whether this rollout has had old machines; only then waves count. */
  rolled: boolean;
  wave: WaveState;
  /** The waves and the replicas that `wave` refers to, if they may differ from `rules` and `desired`. */
  countedBy?: WaveCount | undefined;
  /**
   * Numbers of the next attempts, one for each machine that is recreated. Each of the next admitted machines gets one of
   * these numbers.
   */
  retries: number[];
  skipped: string[];
  /** Machines that were set aside because they could not be drained; those being deleted count against the budget. */
  setAside: string[];
  /** Machines that were removed as unhealthy, and for which no new machine has been admitted yet. */
  repaired?: readonly string[];
  paused: boolean;
  /** The desired change failed before, so no machine of it is admitted. */
  quarantined: boolean;
  /** A rollback is in progress: budgets and gates apply, but waves, soaks, approvals and windows do not. */
  rollingBack: boolean;
  /** Whether the plan as a whole was approved; only used if the rules require approval. */
  approved: boolean;
  /** Typical maximum duration of a replacement in milliseconds; null without measurements. */
  usual: number | null;
}

/** A step that the planner starts. */
export type Step =
  /** Uncordon and unmark a machine that is not replaced after all. */
  | { kind: "spare"; machine: Member }
  /** Wait for a machine to join that boots without admission, or was admitted before. */
  | { kind: "join"; machine: string; attempt: number }
  /** Drain and release a machine that is being deleted and that Ostler holds. */
  | { kind: "leave"; machine: Member }
  /** Admit a new machine and, if the pool is full, mark the machine that it replaces. */
  | { kind: "admit"; newcomer: Member; victim: Member | null; attempt: number }
  /** Replace a machine that has been unhealthy for too long. */
  | { kind: "repair"; machine: Member }
  /** Make a machine fetch its image, before any of its workload is stopped. */
  | { kind: "stage"; machine: Member }
  /** Update a machine in place. A resumed update began earlier and already has its slot of the shared budget. */
  | { kind: "update"; machine: Member; isResumed: boolean }
  /** Evaluate the gates of the wave, because all its machines are updated. */
  | { kind: "gates"; wave: number; upTo: number };

/** Why no further step begins. `until` is when the block ends by itself (epoch ms); null if only an event ends it. */
export interface Blocked {
  reason:
    | "Paused"
    | "OutsideWindow"
    | "WindowTooShort"
    | "AwaitingApproval"
    | "Soaking"
    | "PolicyConflict"
    | "Quarantined"
    | "TooManyUnhealthy"
    | "OnlySkippedRemain"
    | "SetAside"
    | "ProtectedRemain"
    | "FailedRemain"
    | "DownRemain"
    | "NodeUnclear"
    /** Only for control planes. */
    | "EtcdInDoubt"
    /** Set by the run, not by the planner: all slots of the shared budget are taken. */
    | "ClusterBudget";
  message: string;
  until: number | null;
}

/** The result of one call of the planner. */
export interface Turn {
  /** Steps that may all begin now, concurrently. */
  steps: Step[];
  /** The updated state of the waves, which the run keeps. */
  wave: WaveState;
  blocked: Blocked | null;
  /** Whether all machines are as desired and none is in progress. */
  converged: boolean;
  /** The reason why the pool waits when nothing can begin, for users. */
  waitsFor: string;
  /**
   * When to plan again even without an event (epoch ms), because a soak, a window or a repair is due; null for never.
   */
  lookAgainAt: number | null;
}

// Amounts of machines in policies: a number, or a percentage of the replicas.

/** Converts an amount to a number of machines; a percentage of `replicas` is rounded up and is at least 1. */
export function machinesOf(amount: Amount, replicas: number): number {
  if (typeof amount === "number") return amount;
  const share = Number.parseFloat(amount);
  if (!amount.trim().endsWith("%")) return Math.ceil(share);
  // The product of doubles for 7 % of 100 is 7.000000000000001, which must not round up to 8.
  return Math.max(1, Math.ceil(share * replicas / 100 - 1e-9));
}

// Typical durations in a pool, from recent measurements.

/**
 * Returns the milliseconds in which nine of ten replacements end; with more than two samples, the slowest never counts.
 * Null without samples.
 */
export function usualReplacement({ join, leave }: { join: number[]; leave: number[] }): number | null {
  if (join.length === 0) return null;
  return Math.round((usually(join) + usually(leave)) * 1000);
}

// Returns the 90th percentile of the samples, but of more than two samples never the slowest: a replacement that was
// delayed for hours is not typical.
function usually(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const most = sorted.length > 2 ? Math.min(sorted.length - 1, Math.ceil(0.9 * sorted.length)) : sorted.length;
  return sorted[most - 1] ?? 0;
}

/** Returns the value below which the share `q` of the samples lies; 0 without samples. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}
