/** Describes one member of a list with the status that it reports, or with the reason why there is no status. */
import type { EtcdMember, EtcdStatus } from "../../workflows/contracts/mod.ts";
import type { MemberList, Status } from "./answers.ts";
import { hostOf } from "./endpoint.ts";
import type { Sighting } from "./sighting.ts";

interface Surroundings {
  list: MemberList | undefined;
  sightings: Sighting[];
}

/** Returns the member as a survey reports it. */
export function memberSeen(
  { ID: id, name, peerURLs, clientURLs, isLearner }: MemberList["members"][number],
  { list, sightings }: Surroundings,
): EtcdMember {
  const known = { id, name, peerUrls: peerURLs, clientUrls: clientURLs, isLearner };
  // Ids derive from addresses, so a member of an etcd that was bootstrapped anew can have the id of a previous member.
  const own = sightings.find(({ told }) =>
    told?.header.member_id === id && told.header.cluster_id === list?.header.cluster_id
  );
  if (own?.told) return { ...known, endpoint: own.endpoint, status: statusOf(own.told) };
  return { ...known, silence: silenceAt([...clientURLs, ...peerURLs], sightings) };
}

function silenceAt(urls: string[], sightings: Sighting[]): string {
  const hosts = urls.map(hostOf);
  const there = sightings.filter(({ endpoint }) => hosts.includes(hostOf(endpoint)));
  const silent = there.find(({ silence }) => silence !== undefined);
  if (silent?.silence !== undefined) return silent.silence;
  const [other] = there;
  if (other) return `"${other.endpoint}" answers with the id of another member`;
  return "no request was sent, because none of its URLs has the host of a known endpoint";
}

function statusOf(told: Status): EtcdStatus {
  const { version, leader, raftIndex, raftAppliedIndex: appliedIndex, raftTerm, dbSize, dbSizeQuota, errors } = told;
  const counts = { raftIndex, appliedIndex, raftTerm, dbSize };
  return { version, leader, ...counts, ...(dbSizeQuota ? { dbQuota: dbSizeQuota } : {}), errors };
}
