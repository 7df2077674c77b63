/** What a rollout tells people in Kubernetes: on the Rollout object and in Events. */
import type { EtcdStanding } from "./control_plane.ts";
import type { LastGood, Quarantined, Request, Rollback } from "./memory.ts";
import type { Phase, Underway, WaveView } from "./progress.ts";

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
