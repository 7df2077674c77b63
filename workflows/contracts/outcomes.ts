/** Results of waits: for machines to join, for gates, and for drains. */

/** Absolute times (epoch ms) by which a machine must have reached each join stage. */
export interface JoinDeadlines {
  instance: number;
  address: number;
  registered: number;
  ready: number;
}

/** Time (ms) in which the API server, Temporal or all workers were down; no deadline counts this time. */
export interface Unseen {
  unseenMs: number;
}

/**
 * Whether machines are kept although the image in their template changed. Unneeded: nothing has to be done. Kept: the
 * owner of the machines creates new machines with the new image and deletes none of the old ones. Pending: the owner
 * has yet to observe the change. Refused: the machines cannot be kept, for the reason in `message`.
 */
export type Keeping = { outcome: "Unneeded" | "Kept" | "Pending" } | { outcome: "Refused"; message: string };

/** The join stage that a machine did not reach in time; "gates" if it joined and then failed its gates. */
export type Rung = keyof JoinDeadlines | "gates";

export interface Joined {
  machine: string;
  /** Epoch ms at which the node of the machine became Ready. */
  readyAt: number;
  node: string;
  image: string;
  kubelet: string;
}

export interface JoinFailure {
  machine: string;
  rung: Rung;
  /** The last known state of the machine, for people. */
  evidence: string;
}

/** The result of waiting for machines to join. */
export interface JoinVerdict {
  joined: Joined[];
  failed: JoinFailure[];
  /** Machines that were deleted during the wait. */
  gone: string[];
  /** The join stage that a deleted machine had not passed at the last read; absent if it is unknown. */
  lastSeen?: JoinFailure[];
  /** Whether the machine was deleted in place of its admission (`AdmissionOutcome`). */
  isRecreated?: true;
}

/**
 * Recreated: the held machine was deleted in place of its admission, so that its controller creates another, because
 * the controller would have deleted the machine while it boots. Undefined for an admitted machine.
 */
export type AdmissionOutcome = "Recreated" | undefined;

/** The result of one gate. */
export interface GateVerdict {
  gate: string;
  outcome: "Passed" | "Failed" | "Inconclusive";
  /** The measured values, for users. */
  message: string;
}

/** A pod that blocks a drain, and what protects it. */
export interface Blocker {
  pod: string;
  /** The owner, such as "Deployment default/web". */
  owner: string;
  /** The cause, such as "PodDisruptionBudget default/web allows 0 disruptions" or "node unreachable". */
  why: string;
}

export type DrainOutcome =
  | { outcome: "Drained"; evicted: number }
  /** Pods remain: returned when the blockers differ from `known`, and at the deadline. */
  | { outcome: "Blocked"; evicted: number; blockers: Blocker[]; key: string };
