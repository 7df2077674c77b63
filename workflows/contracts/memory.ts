/** What outlives a run: on the Rollout object for the next rollout, and through continue-as-new for the same one. */
import type { Rules } from "./rules.ts";

/** Who asked, why, and since when (epoch ms). */
export interface Request {
  by: string;
  reason: string;
  since: number;
}

/** A change that failed; it is held until it changes or a person says retry. */
export interface Quarantined extends Request {
  specHash: string;
  templateHash: string;
  revision: string;
  image: string;
  kubelet: string;
}

/** What a pool came to rest with. */
export interface LastGood {
  templateHash: string;
  revision: string;
  image: string;
  kubelet: string;
  configDigest: string;
  specHash: string;
}

/** What earlier runs of a pool left on its Rollout; lists are bounded where they are written. */
export interface Memory {
  paused: Request | null;
  quarantine: Quarantined[];
  lastGood: LastGood | null;
  /** Seconds that machines of this pool lately took to join and to be drained and removed; the newest last. */
  usual: { join: number[]; leave: number[] };
  /** What was left last, until another change converges; the fleet runs the last good template meanwhile. */
  left?: RollBack | null;
}

/** Going back to the last good template; by policy or by a person who aborted. */
export interface RollBack extends Request {
  kind: "RollBack" | "Abort";
  /** The change that is left. */
  bad: Quarantined;
  /** How often the bad change was applied again meanwhile and taken back. */
  reapplied: number;
}

/** A machine that comes: when it began to boot (epoch ms), and which attempt of its place it is, from 0. */
export interface Boot {
  since: number;
  attempt: number;
  /** Of the change that it was admitted for; a run of before that was noted carried neither. */
  templateHash?: string;
  kubelet?: string;
  /** It failed for good and is among the failed machines that are counted, though it is not deleted yet. */
  counted?: true;
}

/** Where the waves stand. */
export interface WaveState {
  /** From 0; the number of waves when all are done. */
  index: number;
  /** Its machines are updated and its gates passed; epoch ms at which the soak ends. */
  soakUntil: number | null;
  /** Its gates passed. */
  passed: boolean;
  /** Somebody allowed this one to start. */
  approved: boolean;
}

/** What waves are counted in: those of the policy, and how many machines are wanted. */
export interface WaveCount extends Pick<Rules, "waves" | "growth"> {
  replicas: number;
}

/** A machine that is drained or removed: what it was, and when that began (epoch ms). */
export interface Draining {
  since: number;
  templateHash: string;
  image: string;
  kubelet: string;
}

/** What a rollout would do: the same planner as the run's, played forward. */
export interface RolloutPlan {
  /** Changes when anything below but the prediction does. */
  hash: string;
  /** Machines of each wave in their order; at most 20 are named. */
  waves: { size: number; machines: string[]; soakSeconds: number }[];
  /** Why it does not start now, in words. */
  blocked: string[];
  /** Seconds until converged, as a range; null when nothing is known about this pool yet. */
  seconds: { low: number; high: number } | null;
  machines: number;
}
