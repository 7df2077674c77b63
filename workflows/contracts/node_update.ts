/** Updating a machine where it stands, step by step; each may run twice. */
import type { OsFinding, OsRefusal } from "./node_os.ts";
import type { Unseen } from "./outcomes.ts";
import type { PoolRef } from "./pool.ts";

/** One machine, and the image that it is brought to, as "repository@sha256:…". */
export interface NodeUpdate {
  pool: PoolRef;
  machine: string;
  image: string;
}

/**
 * Booted: the machine runs the image already. Staged: its next boot brings it. Refused: nothing on it was changed, and why
 * not. Unknown: it did not answer. Failed: the image failed on it since anybody said retry. Gone: there is no such machine
 * any more, or it is of the pool no more.
 */
export type StageOutcome =
  | { outcome: "Booted" | "Staged" | "Failed" | "Gone" }
  | { outcome: "Refused"; reason: OsRefusal | OsFinding["kind"]; message: string }
  | { outcome: "Unknown"; message: string };

/** Ordered: it is about to boot, and had this boot id. Rebooted: it booted by itself since it was staged, unordered. */
export type BootOrdered =
  | { outcome: "Ordered"; bootId: string }
  | { outcome: "Refused"; reason: OsRefusal; message: string }
  | { outcome: "Rebooted" | "Gone" };

/**
 * What a machine did with the order to boot. Updated: another boot, the wanted image, and Ready. RolledBack: another boot,
 * but another image. NotReady: the wanted image, but its node did not get Ready in time. NotBooted: it never went down.
 * Lost: it went down and did not come back in time. Gone: there is no such machine any more.
 */
export interface BootVerdict {
  verdict: "Updated" | "RolledBack" | "NotReady" | "NotBooted" | "Lost" | "Gone";
  /** The last thing known, in words. */
  evidence: string;
}

/** Who makes a node's machine anew once that is deleted. Each of them by its uid: another of the same name is another one. */
export interface Maker {
  /** Of the maker. */
  pool: PoolRef;
  machine: string;
  machineUid: string;
  nodeUid: string;
}

export interface NodeUpdateActivities {
  /**
   * Looks what the machine runs and whether an update would trip, and has it fetch the image for its next boot; both times in
   * epoch ms. With `isAskedAgain` also where the image failed on it before.
   */
  awaitImageStaged(
    input: NodeUpdate & { retriedAt: number; until: number; isAskedAgain?: true },
  ): Promise<StageOutcome>;
  /** Has it boot what is staged. */
  awaitBootOrdered(input: NodeUpdate & { until: number }): Promise<BootOrdered>;
  /** Sees it come back from boot `bootId`. */
  awaitNodeBooted(input: NodeUpdate & { bootId: string; until: number }): Promise<BootVerdict | Unseen>;
  /**
   * Remembers on the machine that the image failed there, at `at` (epoch ms), so that nobody tries it again unasked; with
   * `isReplaceable` that it may be replaced for it in its turn.
   */
  ensureImageFailed(input: NodeUpdate & { reason: string; at: number; isReplaceable?: true }): Promise<void>;
  /** Who would make it anew; null for nobody. One that came since boot `bootId` was ordered, "" for none, is not meant. */
  readMaker(input: NodeUpdate & { bootId: string }): Promise<Maker | null>;
  /** Deletes the machine that was found, and no other. Gone: its node is. Kept: that is no more what it was found to be. */
  ensureNodeReplaced(input: NodeUpdate & { maker: Maker }): Promise<"Replaced" | "Gone" | "Kept">;
  /** Waits until the node that was found is gone; false where it is there at `until` (epoch ms). */
  awaitNodeGone(input: NodeUpdate & { maker: Maker; until: number }): Promise<boolean>;
}
