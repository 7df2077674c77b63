/** What is known of an etcd that runs on control planes: ids, addresses and counts, never what is stored there. */

/** Ids are hexadecimal, as etcdctl prints them. */
export interface EtcdMember {
  id: string;
  /** "" until it started for the first time. */
  name: string;
  peerUrls: string[];
  /** None until it started for the first time. */
  clientUrls: string[];
  /** It has no vote yet. */
  isLearner: boolean;
  /** The one of the endpoints at which it answers. */
  endpoint?: string;
  status?: EtcdStatus;
  /** Why there is no status. */
  silence?: string;
}

/** What a member says of itself. */
export interface EtcdStatus {
  version: string;
  /** The id of the leader that it follows; "" for none. */
  leader: string;
  raftIndex: number;
  appliedIndex: number;
  raftTerm: number;
  /** Bytes. */
  dbSize: number;
  /** Bytes; members older than 3.6 do not tell. */
  dbQuota?: number;
  errors: string[];
}

/** An alarm that stands; members stay under it until a person disarms it. */
export interface EtcdAlarm {
  /** The id of the member that raised it. */
  member: string;
  /** NOSPACE, CORRUPT, or what later versions know. */
  type: string;
}

/** One look at all members. */
export interface EtcdSurvey {
  members: EtcdMember[];
  /** "" where there is none, or no quorum. */
  leader: string;
  alarms: EtcdAlarm[];
  /** Who was asked. */
  endpoints: string[];
  /** Why the members did not agree on this answer, such as a lost quorum; missing where they did. */
  silence?: string;
}

/** A snapshot that was kept. */
export interface EtcdSnapshot {
  name: string;
  /** Bytes, the digest that etcd appends counted in. */
  size: number;
  /** Of all these bytes, in hexadecimal. */
  sha256: string;
}

/** What became of a learner that was to vote. */
export type EtcdPromotion = "Promoted" | "NotInSync" | "Voter" | "Absent";
