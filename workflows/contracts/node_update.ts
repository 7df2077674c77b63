/** The steps that update a machine in place; each step is idempotent. */
import type { OsFinding, OsRefusal } from "./node_os.ts";
import type { Unseen } from "./outcomes.ts";
import type { PoolRef } from "./pool.ts";

/** One machine and its target image, as "repository@sha256:…". */
export interface NodeUpdate {
  pool: PoolRef;
  machine: string;
  image: string;
}

/**
 * Booted: the machine already runs the image. Staged: its next boot starts the image. Refused: the machine is
 * unchanged, with the reason. Unknown: the machine did not respond. Failed: the image failed on the machine since the
 * last retry. Gone: the machine was deleted or is no longer a member of the pool.
 */
export type StageOutcome =
  | { outcome: "Booted" | "Staged" | "Failed" | "Gone" }
  | { outcome: "Refused"; reason: OsRefusal | OsFinding["kind"]; message: string }
  | { outcome: "Unknown"; message: string };

/**
 * Ordered: the machine is about to boot; `bootId` is its boot id before that. Rebooted: it booted after staging,
 * without an order. Refused and Gone: as in `StageOutcome`.
 */
export type BootOrdered =
  | { outcome: "Ordered"; bootId: string }
  | { outcome: "Refused"; reason: OsRefusal; message: string }
  | { outcome: "Rebooted" | "Gone" };

/**
 * The result of an order to boot. Updated: the machine booted the desired image and is Ready. RolledBack: it booted a
 * different image. NotReady: it booted the desired image, but its node was not Ready in time. NotBooted: it never went
 * down. Lost: it went down and did not come back in time. Gone: the machine was deleted.
 */
export interface BootVerdict {
  verdict: "Updated" | "RolledBack" | "NotReady" | "NotBooted" | "Lost" | "Gone";
  /** The last known state of the machine, for people. */
  evidence: string;
}

/**
 * The pool that recreates a node's machine once the machine is deleted. Machine and node are identified by uid, because
 * a later object may have the same name.
 */
export interface Maker {
  /** The pool that recreates the machine. */
  pool: PoolRef;
  machine: string;
  machineUid: string;
  nodeUid: string;
}

export interface NodeUpdateActivities {
  /**
   * Reads what the machine runs, checks for findings, and makes it fetch the image for its next boot; `retriedAt` and
   * `until` are in epoch ms. With `isAskedAgain` it stages the image even if the image failed on the machine before.
   */
  awaitImageStaged(
    input: NodeUpdate & { retriedAt: number; until: number; isAskedAgain?: true },
  ): Promise<StageOutcome>;
  /** Orders the machine to boot the staged image. */
  awaitBootOrdered(input: NodeUpdate & { until: number }): Promise<BootOrdered>;
  /** Waits until the machine has booted again, that is, until its boot id is not `bootId`. */
  awaitNodeBooted(input: NodeUpdate & { bootId: string; until: number }): Promise<BootVerdict | Unseen>;
  /**
   * Records on the machine that the image failed there at `at` (epoch ms), so that only a `retry` command makes Ostler
   * try the image there again. With `isReplaceable`, also records that the machine may be replaced when its turn comes.
   */
  ensureImageFailed(input: NodeUpdate & { reason: string; at: number; isReplaceable?: true }): Promise<void>;
  /**
   * Returns the pool that would recreate the machine; null if none would. `bootId` is the boot id with which Ostler
   * ordered a boot, "" if it ordered none; a later node of the same name has not received that order, so the result for
   * it is null.
   */
  readMaker(input: NodeUpdate & { bootId: string }): Promise<Maker | null>;
  /**
   * Deletes the machine in `maker`. Gone: its node is already gone. Kept: nothing was deleted, because machine or node
   * is not the one in `maker`, or the pool would not recreate the machine any more.
   */
  ensureNodeReplaced(input: NodeUpdate & { maker: Maker }): Promise<"Replaced" | "Gone" | "Kept">;
  /** Waits until the node in `maker` is gone; returns false if it still exists at `until` (epoch ms). */
  awaitNodeGone(input: NodeUpdate & { maker: Maker; until: number }): Promise<boolean>;
}
