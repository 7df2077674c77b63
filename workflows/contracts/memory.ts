/** State that outlives a run, because the Rollout object stores it. */
import type { Desired, PoolRef } from "./pool.ts";

/** A request of a person or of the policy: by whom, why, and since when (epoch ms). */
export interface Request {
  by: string;
  reason: string;
  since: number;
}

/** A failed change: none of its machines is admitted until the desired spec changes or a person runs retry. */
export interface Quarantined extends Request {
  specHash: string;
  templateHash: string;
  revision: string;
  image: string;
  kubelet: string;
}

/** The spec with which a pool last converged. */
export interface LastGood {
  templateHash: string;
  revision: string;
  image: string;
  kubelet: string;
  configDigest: string;
  specHash: string;
}

/** A rollback of a pool to its last good change. */
export interface RestoreOrder {
  pool: PoolRef;
  by: string;
  reason: string;
  /** The change to roll back; missing in orders of earlier versions of Ostler. */
  bad?: Pick<Desired, "specHash" | "templateHash">;
}

/** State that earlier runs of a pool left on its Rollout; the writer bounds the lists. */
export interface Memory {
  paused: Request | null;
  quarantine: Quarantined[];
  lastGood: LastGood | null;
  /**
   * Seconds that recent machines of this pool took: `join` to join, `leave` to be drained and removed; the newest last.
   */
  usual: { join: number[]; leave: number[] };
  /** The last rollback or abort, until another change converges; meanwhile the fleet runs the last good template. */
  left?: Rollback | null;
  /** Identity of the desired state at the last report; absent if an earlier version of Ostler wrote the report. */
  observed?: string;
  /** Hash of the desired template at the last report; the skipped machines and the approval belong to that template. */
  templateHash?: string;
  /** Machines that a person skipped. */
  skipped?: string[];
  /** The approval that was valid at the last report. */
  approval?: Approval | null | undefined;
  /** Whether the rollout had not ended at the last report. */
  isOpen?: boolean;
  /** Whether the rollback in `left` had not ended at the last report. */
  isRollingBack?: boolean;
}

/** An approval that is still valid. */
export interface Approval {
  /**
   * Hash of the approved plan; "" if a person approved no plan, but merged all remaining waves into one with `promote`.
   */
  plan: string;
  /** The template whose plan was approved; "" if only one wave is approved. */
  templateHash: string;
  /** Index of the wave that is approved. */
  wave: number;
  /** The approved terms; null until the next read. */
  terms: PlanTerms | null;
}

/** A rollback to the last good template, started by policy or by an abort. */
export interface Rollback extends Request {
  kind: "RollBack" | "Abort";
  /** The change that is rolled back. */
  bad: Quarantined;
  /** How often the bad change was applied again during the rollback and reverted. */
  reapplied: number;
}

/** The terms that an approval covers; if they change, the plan must be approved again. */
export interface PlanTerms {
  /** Hash of the template and of the rules that matter to the plan. */
  hash: string;
  /**
   * The version of the method that computes `hash`; hashes of different versions cannot be compared. Absent for version
   * 1.
   */
  form?: number | undefined;
  /** Number of replicas. */
  replicas: number;
}
