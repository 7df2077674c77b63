/** State of an etcd cluster on control planes: ids, addresses and counts, never the stored data. */

/** A member of etcd; ids are hexadecimal, as etcdctl prints them. */
export interface EtcdMember {
  id: string;
  /** "" until the member starts for the first time. */
  name: string;
  peerUrls: string[];
  /** Empty until the member starts for the first time. */
  clientUrls: string[];
  /** Whether the member is a learner, without a vote. */
  isLearner: boolean;
  /** The endpoint at which the member responds. */
  endpoint?: string;
  status?: EtcdStatus;
  /** Why `status` is absent. */
  silence?: string;
}

/** The status that a member reports. */
export interface EtcdStatus {
  version: string;
  /** Id of the leader that the member follows; "" for none. */
  leader: string;
  raftIndex: number;
  appliedIndex: number;
  raftTerm: number;
  /** Bytes. */
  dbSize: number;
  /** Bytes; absent from members older than 3.6. */
  dbQuota?: number;
  errors: string[];
}

/** An active alarm; it lasts until a person disarms it. */
export interface EtcdAlarm {
  /** Id of the member that raised the alarm. */
  member: string;
  /** NOSPACE, CORRUPT, or a type of a later version. */
  type: string;
}

/** One read of all members. */
export interface EtcdSurvey {
  members: EtcdMember[];
  /** Id of the leader; "" without a leader or without quorum. */
  leader: string;
  alarms: EtcdAlarm[];
  /** The endpoints that were queried. */
  endpoints: string[];
  /** Why the members did not agree on this result, such as a lost quorum; absent if they agreed. */
  silence?: string;
}

/** A stored snapshot. */
export interface EtcdSnapshot {
  name: string;
  /** Bytes, including the digest that etcd appends. */
  size: number;
  /** SHA-256 of all these bytes, in hexadecimal. */
  sha256: string;
}

/**
 * The result of promoting a learner to a voter. NotInSync: the learner is not up to date yet. Voter: the member already
 * votes. Absent: etcd has no such member.
 */
export type EtcdPromotion = "Promoted" | "NotInSync" | "Voter" | "Absent";
