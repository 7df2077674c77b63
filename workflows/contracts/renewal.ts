/** Having credentials renewed before they are old. */
import type { PoolRef } from "./pool.ts";
import type { Deadlines } from "./run.ts";

/** A pool whose credentials are due. */
export interface DuePool extends PoolRef {
  /** Its last rollout was cancelled: only its credentials are wanted. */
  publishOnly: boolean;
  /** Its rollout has converged: as long as all is as that left it, no other is needed. */
  rest?: Rest;
}

/** What a rollout that converged had seen, as the Rollout tells it. */
export interface Rest {
  observed: string;
  specHash: string;
}

/**
 * What came of renewing the credentials of a pool at rest, times in RFC 3339: something is not as its rollout left it,
 * it is not ours any more, or what stands is fresh now.
 */
export type RestRenewal =
  | { news: "RolloutNeeded" | "Unserved" }
  | { news: "None" | "Renewed"; expiresAt: string; renewAt: string };

/** The single argument of `renewCredentials`. */
export interface RenewInput {
  /** The name of the cluster whose pools they are, where it has one. */
  cluster?: string;
  /** Those of the rollouts that are started. */
  deadlines?: Partial<Deadlines>;
  /** Where an earlier run of the same chain stopped; written by continue-as-new only. */
  carried?: { after: string; pools: number };
}

/** How many pools a chain of runs had renewed. */
export interface RenewResult {
  pools: number;
}
