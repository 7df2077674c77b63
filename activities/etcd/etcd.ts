/** The interface to the etcd of a cluster's control planes. */
import type { EtcdPromotion, EtcdSurvey, SnapshotKeep, SnapshotTaken } from "../../workflows/contracts/mod.ts";

/** Operations on an etcd; members are identified by their ids in hex. */
export interface Etcd {
  /** Returns all members with their own statuses, and the alarms; also reports members that do not respond. */
  survey(): Promise<EtcdSurvey>;
  /** Moves the leadership to a member other than `from`; does nothing if `from` does not lead. */
  moveLeadership(from: string): Promise<void>;
  /**
   * Removes a member; an absent member counts as success. Throws Transient while the remaining members would have no
   * quorum.
   */
  removeMember(id: string): Promise<void>;
  /** Makes a learner a voter once it is in sync. */
  promoteLearner(id: string): Promise<EtcdPromotion>;
  /**
   * Takes a snapshot from a member other than `beside`, and stores it under `name`; replaces an older snapshot of that
   * name.
   */
  keepSnapshot(order: { beside: string; name: string; keep: SnapshotKeep }): Promise<SnapshotTaken>;
}
