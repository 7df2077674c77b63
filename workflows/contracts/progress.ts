/** Progress of a rollout: the result of the query `progress`. */
import type { EtcdStanding, TrustedCas } from "./pool.ts";
import type { Blocker } from "./outcomes.ts";
import type { Approval, LastGood, PlanTerms, Quarantined, Request, Rollback } from "./memory.ts";

/** The phase of a rollout. Repairing: an unhealthy machine is being replaced without a rollout. */
export type Phase =
  | "Preparing"
  | "Creating"
  | "Rolling"
  | "RollingBack"
  | "Repairing"
  | "Converged"
  | "RolledBack"
  | "Halted"
  | "Aborted"
  | "Deleting";

/** The current step of one machine; `until` is the deadline of the step. Times are RFC 3339. */
export interface Underway {
  machine: string;
  node?: string;
  step: "Joining" | "Gates" | "Draining" | "Removing" | "Repairing" | "Staging" | "Rebooting" | "Soaking" | "Relieving";
  since: string;
  until: string;
  attempt?: number;
  /** The condition that the step waits for; for a join or a removal only after the wait has lasted 30 s. */
  waitsFor?: string;
  blockers?: Blocker[];
}

/** One wave as shown to people. */
export interface WaveView {
  /** Number of machines up to and including this wave. */
  upTo: number;
  state: "Waiting" | "Rolling" | "Gates" | "Soaking" | "Done";
  /** RFC 3339; only while the wave soaks. */
  soakUntil?: string;
}

export interface JoinRecord {
  machine: string;
  node: string;
  image: string;
  kubelet: string;
  joinedSeconds: number;
}

export interface ReplacementRecord {
  machine: string;
  /** The last machine that joined before this machine was removed. */
  replacedBy: string;
  image: string;
  kubelet: string;
  drainedSeconds: number;
}

/** Progress of the rollout. */
export interface Progress {
  phase: Phase;
  reason: string;
  message: string;
  /** RFC 3339. */
  since: string;
  until?: string;
  paused: boolean;
  pausedBy?: Request;
  policy: string;
  target?: { generation: number; revision: string; image: string; kubelet: string; configDigest: string };
  counts?: {
    desired: number;
    machines: number;
    updated: number;
    /** Updated machines that joined and passed their gates. */
    updatedReady?: number;
    ready: number;
    old: number;
    leaving: number;
    unhealthy: number;
  };
  waves: WaveView[];
  /** The current wave, from 1; the length of `waves` is the total. */
  wave: number;
  eta?: string;
  plan?: { hash: string; approved: boolean };
  rollBack?: { kind: "RollBack" | "Abort"; by: string; reason: string; revision: string };
  quarantine: Quarantined[];
  failedMachines: number;
  /** Only for pools of control planes. */
  etcd?: EtcdStanding;
  skipped: string[];
  setAside: string[];
  underway: Underway[];
  joins: JoinRecord[];
  replacements: ReplacementRecord[];
}

// The reports of a rollout in Kubernetes: on the Rollout object and in Events.

export interface Condition {
  type: "Ready" | "Progressing" | "Paused" | "Blocked" | "RolledBack" | "Quarantined" | "AutoscalerHeld";
  status: "True" | "False";
  reason: string;
  message: string;
}

/** One entry of a pool's bounded history. */
export interface HistoryEntry {
  revision: string;
  image: string;
  kubelet: string;
  configDigest: string;
  startedAt: string;
  endedAt: string;
  outcome: "Converged" | "RolledBack" | "Aborted";
  /** Number of machines that joined. */
  machines: number;
  failed: number;
  /** The author of the template change, or of the abort. */
  actor: string;
  /** Why the change was rolled back or aborted; empty if it converged. */
  reason: string;
  seconds: number;
}

/**
 * The status of a Rollout; the activity that writes it adds the run ids, and keeps the times of conditions that do not
 * change.
 */
export interface RolloutReport {
  phase: Phase;
  reason: string;
  message: string;
  observed?: string;
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  failedMachines?: number;
  updated?: string;
  revision?: string;
  targetTemplateHash?: string;
  /** Hash of the template whose new machines boot without admission. */
  convergedTemplateHash?: string;
  image?: string;
  kubelet?: string;
  configDigest?: string;
  profile?: { name: string; namespace: string; version: string };
  policy?: string;
  /** For people, such as "2/3". */
  wave?: string;
  waves?: WaveView[];
  blockedReason: string | null;
  paused: boolean;
  pausedBy: Request | null;
  quarantine: Quarantined[];
  lastGood?: LastGood;
  usual?: { join: number[]; leave: number[] };
  /** The last rollback or abort, until another change converges. */
  left: Rollback | null;
  /** RFC 3339; null without measurements or without a rollout in progress. */
  eta: string | null;
  plan: { hash: string; approved: boolean } | null;
  /** Machines that a person skipped, and the approval that is valid now; absent from runs of earlier versions. */
  skipped?: string[];
  approval?: Approval | null | undefined;
  credentials?: { expiresAt: string; renewAt: string };
  /** The CAs that new machines trust; the object keeps the last ten bundles with their times. */
  trusted?: TrustedCas;
  /** Only for pools of control planes. */
  etcd?: EtcdStanding;
  /** The first twenty machines in progress. */
  underway: Underway[];
  conditions: Condition[];
  /**
   * Set when a rollout has ended. An entry that the object does not have yet is appended and reported as an Event; the
   * object keeps the last ten entries.
   */
  history?: HistoryEntry;
}

/** A Kubernetes Event on the MachineDeployment. */
export interface PoolEvent {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

// Plans that people approve.

/** The part of a plan that its approval needs; the plan waits for approval, or is approved. */
export type AskedPlan = Pick<RolloutPlan, "hash" | "terms">;

/** The plan of a rollout, simulated with the planner of the run. */
export interface RolloutPlan {
  /**
   * Changes when `waves`, `terms` or the selected policy changes, but not when only `blocked`, `stays` or the predicted
   * `seconds` change.
   */
  hash: string;
  /** Machines of each wave in order; at most 20 are named. */
  waves: { size: number; machines: string[]; soakSeconds: number }[];
  /** Why the rollout does not start now, for people. */
  blocked: string[];
  /** Outdated machines that stay unchanged, and until when, for people; absent if there are none. */
  stays?: string[];
  /** Seconds until the pool has converged, as a range; null without measurements of this pool. */
  seconds: { low: number; high: number } | null;
  machines: number;
  /** The terms that an approval covers; absent in plans of earlier versions. */
  terms?: PlanTerms;
}
