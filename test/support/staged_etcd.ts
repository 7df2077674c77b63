/** An etcd in memory, which records the orders that it receives; a test adds each member with its address. */
import type { Etcd } from "../../activities/etcd/etcd.ts";
import { unavailable } from "../../activities/failures.ts";
import type {
  EtcdMember,
  EtcdPromotion,
  EtcdSurvey,
  SnapshotKeep,
  SnapshotTaken,
} from "../../workflows/contracts/mod.ts";

export class StagedEtcd implements Etcd {
  readonly members: EtcdMember[] = [];
  leader = "";
  alarms: EtcdSurvey["alarms"] = [];
  /** The orders that etcd got, as "verb id", in order. */
  readonly orders: string[] = [];
  /** Where snapshots were stored, in order. */
  readonly places: SnapshotKeep[] = [];
  /** Learners that are not in sync. */
  readonly behind = new Set<string>();
  /** Error with which a survey fails, as when no member responds. */
  fault: Error | undefined;

  /** Adds a healthy voter, or a learner; the first member leads. */
  join(
    id: string,
    address: string,
    { isLearner = false, name = id }: { isLearner?: boolean; name?: string } = {},
  ): void {
    this.leader ||= id;
    const status = {
      ...{ version: "3.6.8", leader: this.leader, raftIndex: 9, appliedIndex: 9, raftTerm: 2, dbSize: 1, errors: [] },
    };
    const urls = { peerUrls: [`https://${address}:2380`], clientUrls: [`https://${address}:2379`] };
    this.members.push({ id, name, ...urls, isLearner, endpoint: `https://${address}:2379`, status });
  }

  /** Why the members do not agree on the result of a survey; undefined if they agree. */
  silence: string | undefined;

  /** Lets a member stop responding. */
  silent(id: string): void {
    const member = this.#find(id);
    delete member?.status;
    if (member) member.silence = "timeout";
  }

  survey(): Promise<EtcdSurvey> {
    if (this.fault) return Promise.reject(this.fault);
    const { members, leader, alarms, silence } = this;
    const told = { members, leader, alarms, endpoints: [], ...(silence === undefined ? {} : { silence }) };
    return Promise.resolve(structuredClone(told));
  }

  async moveLeadership(from: string): Promise<void> {
    this.orders.push(`move ${from}`);
    if (this.leader !== from) return await Promise.resolve();
    const heir = this.members.find(({ id, isLearner }) => id !== from && !isLearner);
    if (!heir) throw unavailable("Failed to move leadership: no other voter is healthy");
    this.leader = heir.id;
    for (const { status } of this.members) if (status) status.leader = heir.id;
  }

  removeMember(id: string): Promise<void> {
    this.orders.push(`remove ${id}`);
    const at = this.members.findIndex((member) => member.id === id);
    if (at >= 0) this.members.splice(at, 1);
    return Promise.resolve();
  }

  promoteLearner(id: string): Promise<EtcdPromotion> {
    this.orders.push(`promote ${id}`);
    const member = this.#find(id);
    if (!member) return Promise.resolve("Absent");
    if (this.behind.has(id)) return Promise.resolve("NotInSync");
    member.isLearner = false;
    return Promise.resolve("Promoted");
  }

  keepSnapshot(
    { beside, name, keep }: { beside: string; name: string; keep: SnapshotKeep },
  ): Promise<SnapshotTaken> {
    this.orders.push(`snapshot beside ${beside}`);
    this.places.push(keep);
    const root = keep.keep === "Folder" ? keep.folder : keep.url;
    return Promise.resolve({ digest: "sha256:aa", bytes: 7, at: `${root}/${name}.db` });
  }

  #find(id: string): EtcdMember | undefined {
    return this.members.find((member) => member.id === id);
  }
}
