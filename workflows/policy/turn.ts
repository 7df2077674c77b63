/** What the planner sees and says, so that a run, `ostler plan` and a simulation ask the same question. */
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

/** Everything that decides what may begin now. */
export interface Situation {
  /** Epoch ms. */
  now: number;
  /** Who makes and removes the machines; all else is plain data. */
  supplier: Supplier;
  desired: Desired;
  rules: Rules;
  pool: PoolSnapshot;
  /** Machines that something is being done with: seen to join, or leaving. */
  busy: {
    joining: string[];
    leaving: string[];
    repairing: string[];
    /** Chosen to go for one that is joining; a look at the pool may be older than their mark. */
    victims?: string[];
    /** Fetching their image, and updated where they stand. */
    staging?: string[];
    updating?: string[];
  };
  /** Updates in place that have begun, by machine; of some of them nobody may know since a restart. */
  updatesBegun?: Readonly<Record<string, Updating>>;
  /** Machines that began to boot and have not passed yet; those in `pool` that are Ready are unproven. */
  booting: Record<string, Boot>;
  /** Old machines were seen in this rollout: only then waves count. */
  rolled: boolean;
  wave: WaveState;
  /** What `wave` counts in, when that may be something else than `rules` and `desired` say now. */
  countedBy?: WaveCount | undefined;
  /** Attempts that places whose machine failed have behind them; the next admitted machines take them over. */
  retries: number[];
  skipped: string[];
  /** Machines that could not be drained and were set aside: they run on and count as out. */
  setAside: string[];
  /** Machines that were replaced for being ill, and for which no other one has been admitted yet. */
  repaired?: readonly string[];
  paused: boolean;
  /** The desired change failed before: nothing of it is admitted. */
  quarantined: boolean;
  /** Going back: waves, soaks, approvals and windows do not hold it up, budgets and gates do. */
  rollingBack: boolean;
  /** The plan as a whole was approved; asked for only where the rules say so. */
  approved: boolean;
  /** Milliseconds that a replacement takes at most as a rule; null when nothing is known. */
  usual: number | null;
}

export type Step =
  /** A machine that stays carries a mark or a hold of an earlier change: take it back. */
  | { kind: "spare"; machine: Member }
  /** A machine boots that nobody has to admit, or was admitted before: see it join. */
  | { kind: "join"; machine: string; attempt: number }
  /** A machine on its way out is held by us, and enough others are proven: drain it and let it go. */
  | { kind: "leave"; machine: Member }
  /** One machine in; and one marked to go out where the pool is full. */
  | { kind: "admit"; newcomer: Member; victim: Member | null; attempt: number }
  /** A machine is ill for too long: replace it. */
  | { kind: "repair"; machine: Member }
  /** Have it fetch its image, before anything of it is stopped. */
  | { kind: "stage"; machine: Member }
  /** Update it where it stands; one that is resumed was begun before, and has its place. */
  | { kind: "update"; machine: Member; isResumed: boolean }
  /** The wave is updated: ask its gates. */
  | { kind: "gates"; wave: number; upTo: number };

/** Why nothing more begins; `until` is when time alone changes that (epoch ms). */
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
    /** Of control planes alone. */
    | "EtcdInDoubt"
    /** Said by the run, not by the planner: the places that all pools share are taken. */
    | "ClusterBudget";
  message: string;
  until: number | null;
}

/** One answer of the planner. */
export interface Turn {
  /** All of them may begin now, side by side. */
  steps: Step[];
  /** Where the waves stand after looking; the run keeps it. */
  wave: WaveState;
  blocked: Blocked | null;
  /** Everything is as desired and nothing is busy. */
  converged: boolean;
  /** What is waited for when there is nothing to begin, in words. */
  waitsFor: string;
  /** When to look again even if nothing changes (epoch ms): a soak, window or repair that comes due; null for never. */
  lookAgainAt: number | null;
}

// Amounts of machines as policies write them: a number, or a share of the wanted ones.

/** How many machines an amount is, of so many wanted; a share is rounded up and is never nothing. */
export function machinesOf(amount: Amount, replicas: number): number {
  if (typeof amount === "number") return amount;
  const share = Number.parseFloat(amount);
  if (!amount.trim().endsWith("%")) return Math.ceil(share);
  // 7 % of 100 is 7.000000000000001 as a product of doubles.
  return Math.max(1, Math.ceil(share * replicas / 100 - 1e-9));
}

// How long things usually take in a pool, from what was measured lately.

/** Milliseconds in which nine of ten replacements end, the slowest left out where there are few; null without any. */
export function usualReplacement({ join, leave }: { join: number[]; leave: number[] }): number | null {
  if (join.length === 0) return null;
  return Math.round((usually(join) + usually(leave)) * 1000);
}

// One that was held up for hours is not what is usual, however few there are to compare it with.
function usually(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const most = sorted.length > 2 ? Math.min(sorted.length - 1, Math.ceil(0.9 * sorted.length)) : sorted.length;
  return sorted[most - 1] ?? 0;
}

/** The value below which the share `q` of the samples lies; 0 without samples. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}
