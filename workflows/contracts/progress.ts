/** Where a rollout is: the answer to the query `progress`. */
import type { EtcdStanding } from "./pool.ts";
import type { Blocker } from "./outcomes.ts";
import type { LastGood, Quarantined, Request, Rollback } from "./memory.ts";

/** `RollingBack` and `RolledBack` are a rollout that went back; `Repairing` replaces an unhealthy machine and is no rollout. */
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

/** What is done with one machine now; `until` is the deadline of its step. Times are RFC 3339. */
export interface Underway {
  machine: string;
  node?: string;
  step: "Joining" | "Gates" | "Draining" | "Removing" | "Repairing" | "Staging" | "Rebooting" | "Soaking" | "Relieving";
  since: string;
  until: string;
  attempt?: number;
  blockers?: Blocker[];
}

/** One wave as people see it. */
export interface WaveView {
  /** Machines up to and with this wave. */
  upTo: number;
  state: "Waiting" | "Rolling" | "Gates" | "Soaking" | "Done";
  /** RFC 3339, while it soaks. */
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
  /** The machine that joined last before it went. */
  replacedBy: string;
  image: string;
  kubelet: string;
  drainedSeconds: number;
}

/** Where the rollout is. */
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
    /** Of those that joined and passed their gates. */
    updatedReady?: number;
    ready: number;
    old: number;
    leaving: number;
    unhealthy: number;
  };
  waves: WaveView[];
  /** From 1; how many there are is the length of `waves`. */
  wave: number;
  eta?: string;
  plan?: { hash: string; approved: boolean };
  rollBack?: { kind: "RollBack" | "Abort"; by: string; reason: string; revision: string };
  quarantine: Quarantined[];
  failedMachines: number;
  /** Of control planes alone. */
  etcd?: EtcdStanding;
  skipped: string[];
  setAside: string[];
  underway: Underway[];
  joins: JoinRecord[];
  replacements: ReplacementRecord[];
}

// What a rollout tells people in Kubernetes: on the Rollout object and in Events.

export interface Condition {
  type: "Ready" | "Progressing" | "Paused" | "Blocked" | "RolledBack" | "Quarantined";
  status: "True" | "False";
  reason: string;
  message: string;
}

/** One line of a pool's bounded history. */
export interface HistoryEntry {
  revision: string;
  image: string;
  kubelet: string;
  configDigest: string;
  startedAt: string;
  endedAt: string;
  outcome: "Converged" | "RolledBack" | "Aborted";
  /** Machines that joined. */
  machines: number;
  failed: number;
  /** Who changed the template, or who aborted. */
  actor: string;
  /** Why it was left, empty when it converged. */
  reason: string;
  seconds: number;
}

/** What a person reads in Kubernetes; the activity adds run ids and keeps condition times. */
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
  /** Machines of this template boot unasked. */
  convergedTemplateHash?: string;
  image?: string;
  kubelet?: string;
  configDigest?: string;
  profile?: { name: string; namespace: string; version: string };
  policy?: string;
  /** As "2/3", for people. */
  wave?: string;
  waves?: WaveView[];
  blockedReason: string | null;
  paused: boolean;
  pausedBy: Request | null;
  quarantine: Quarantined[];
  lastGood?: LastGood;
  usual?: { join: number[]; leave: number[] };
  /** What was rolled back or aborted last, until another change converges. */
  left: Rollback | null;
  /** RFC 3339; null when nothing is known or nothing is under way. */
  eta: string | null;
  plan: { hash: string; approved: boolean } | null;
  credentials?: { expiresAt: string; renewAt: string };
  /** Of control planes alone. */
  etcd?: EtcdStanding;
  /** The first twenty. */
  underway: Underway[];
  conditions: Condition[];
  /** Given when a rollout ended; appended, with an Event, when it is news. The object keeps the last ten. */
  history?: HistoryEntry;
}

/** A Kubernetes Event on the MachineDeployment. */
export interface PoolEvent {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

// What a person is asked to approve.

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
