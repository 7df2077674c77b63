/** What a person is asked to approve. */

/** What an approval rests on: when it changes, somebody has to look again. */
export interface PlanTerms {
  /** Of the spec and the rules that matter to it. */
  hash: string;
  /** How many machines were wanted. */
  replicas: number;
}

/** A plan that waits for a word, or was approved, as far as an approval needs it. */
export type AskedPlan = Pick<RolloutPlan, "hash" | "terms">;

/** What a rollout would do: the same planner as the run's, played forward. */
export interface RolloutPlan {
  /** Changes when anything below but the prediction does. */
  hash: string;
  /** Machines of each wave in their order; at most 20 are named. */
  waves: { size: number; machines: string[]; soakSeconds: number }[];
  /** Why it does not start now, in words. */
  blocked: string[];
  /** Who stays as it is although it is old, and until when, in words; missing where nobody does. */
  stays?: string[];
  /** Seconds until converged, as a range; null when nothing is known about this pool yet. */
  seconds: { low: number; high: number } | null;
  machines: number;
  /** What its approval rests on; absent when an earlier version made the plan. */
  terms?: PlanTerms;
}
