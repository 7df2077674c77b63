/** Where a rollout is: the answer to the query `progress`. */
import type { EtcdStanding } from "./control_plane.ts";
import type { Blocker } from "./outcomes.ts";
import type { Quarantined, Request } from "./memory.ts";

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
