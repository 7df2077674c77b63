/** What the rest of us asks of the etcd of a cluster's control planes. */
import type { EtcdPromotion, EtcdSurvey, SnapshotKeep, SnapshotTaken } from "../../workflows/contracts/mod.ts";

/** What may be asked of it; members are named by their ids in hex. */
export interface Etcd {
  /** All members, what each says of itself, and alarms; a member that does not answer is an answer. */
  survey(): Promise<EtcdSurvey>;
  /** Another one leads than `from`; nothing is to be done where it leads not. */
  moveLeadership(from: string): Promise<void>;
  /** It is a member no more; transient while those that would remain could decide nothing. One that is none is done. */
  removeMember(id: string): Promise<void>;
  /** A learner votes from now on, where it is in sync. */
  promoteLearner(id: string): Promise<EtcdPromotion>;
  /** Keeps a copy of what a member other than `beside` has, under a name; the same name is written over. */
  keepSnapshot(order: { beside: string; name: string; keep: SnapshotKeep }): Promise<SnapshotTaken>;
}
