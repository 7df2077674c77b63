/** What outlives a run, on the Rollout object. */

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
  left?: Rollback | null;
  /** The identity of what was desired when its state was told last; an earlier version does not give it. */
  observed?: string;
}

/** Going back to the last good template; by policy or by a person who aborted. */
export interface Rollback extends Request {
  kind: "RollBack" | "Abort";
  /** The change that is left. */
  bad: Quarantined;
  /** How often the bad change was applied again meanwhile and taken back. */
  reapplied: number;
}
