/** What a rollout tells people: on the Rollout object, in Events, and as the answer to the query `progress`. */
export type Phase = "Preparing" | "Creating" | "Rolling" | "Converged" | "Halted" | "Aborted" | "Deleting";

export interface Condition {
  type: "Ready" | "Progressing" | "Blocked" | "Paused";
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
  outcome: string;
  machines: number;
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
  convergedTemplateHash?: string;
  image?: string;
  kubelet?: string;
  configDigest?: string;
  profile?: { name: string; namespace: string; version: string };
  wave?: string;
  blockedReason: string | null;
  paused: boolean;
  credentials?: { expiresAt: string; renewAt: string };
  replacement: { machine: string; victim: string | null; step: string; since: string; until: string } | null;
  conditions: Condition[];
  /** Given when the pool has converged; appended, with an Event, when it is news. The object keeps the last ten. */
  history?: HistoryEntry;
}

/** A Kubernetes Event on the MachineDeployment. */
export interface PoolEvent {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
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
  target?: { generation: number; revision: string; image: string; kubelet: string; configDigest: string };
  counts?: { desired: number; machines: number; updated: number; ready: number; old: number; leaving: number };
  replacement?: { machine: string; victim?: string; step: string; since: string; until: string };
  joins: JoinRecord[];
  replacements: ReplacementRecord[];
}
