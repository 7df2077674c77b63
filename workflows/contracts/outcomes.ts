/** What came of waiting: machines that join, gates that are asked, nodes that are drained. */

/** Absolute times (epoch ms) by which a machine must have reached each rung of the join ladder. */
export interface JoinDeadlines {
  instance: number;
  address: number;
  registered: number;
  ready: number;
}

/** For so long (ms) nobody could look: the API server, Temporal or all workers were away. No deadline counts that time. */
export interface Unseen {
  unseenMs: number;
}

/**
 * What became of machines that another image in their template is not to replace. Unneeded: nothing is to be done. Kept: what
 * makes them makes the new image from now on, and none of them goes. Pending: their maker has yet to see that.
 */
export type Keeping = { outcome: "Unneeded" | "Kept" | "Pending" } | { outcome: "Refused"; message: string };

export type Rung = keyof JoinDeadlines | "gates";

export interface Joined {
  machine: string;
  /** Epoch ms at which its node became Ready. */
  readyAt: number;
  node: string;
  image: string;
  kubelet: string;
}

export interface JoinFailure {
  machine: string;
  rung: Rung;
  /** The last thing known about the machine, in words. */
  evidence: string;
}

export interface JoinVerdict {
  joined: Joined[];
  failed: JoinFailure[];
  /** Machines that somebody removed meanwhile. */
  gone: string[];
}

/** What came of asking one gate. */
export interface GateVerdict {
  gate: string;
  outcome: "Passed" | "Failed" | "Inconclusive";
  /** What was measured, in words. */
  message: string;
}

/** A pod that does not move, and what protects it. */
export interface Blocker {
  pod: string;
  /** As "Deployment default/web". */
  owner: string;
  /** As "PodDisruptionBudget default/web allows 0 disruptions", or "node unreachable". */
  why: string;
}

export type DrainOutcome =
  | { outcome: "Drained"; evicted: number }
  /** Pods remain: told when what blocks has changed since `known`, and when the time is over. */
  | { outcome: "Blocked"; evicted: number; blockers: Blocker[]; key: string };
