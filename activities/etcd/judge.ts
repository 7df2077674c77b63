/** Why nothing should be done to an etcd now, in sentences; none where it may be touched. Pure. */
import type { EtcdMember, EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { hostOf, hostOfAddress } from "./endpoint.ts";
import { doubtsOfMembers, named } from "./member_doubts.ts";
import { leavingDoubts } from "./quorum.ts";

const mostSentences = 5;

/** One sentence, and the id of the member that it is about, where it is about one alone. */
export interface Doubt {
  member?: string;
  says: string;
}

/** Why nobody should be taken away from it, or changed, at present. Without numbers that change by themselves: told twice it is no news. */
export function doubtsOf(survey: EtcdSurvey): Doubt[] {
  const { members, silence, leader, alarms } = survey;
  const whole = [
    ...(silence === undefined ? [] : [`etcd does not respond: ${silence}`]),
    ...(members.length === 0 ? ["etcd reports no members"] : []),
    ...(leader === "" && silence === undefined ? ["etcd has no leader"] : []),
    // One member raises it, and all stop taking writes.
    ...alarms.map(({ member, type }) => `alarm ${type} is raised for ${named(members, member)}`).sort(),
  ];
  return [...whole.map((says) => ({ says })), ...doubtsOfMembers(survey)];
}

/** The same in words; at most five sentences, and how many more there are. */
export function wordsOf(survey: EtcdSurvey): string[] {
  return bounded(doubtsOf(survey).map(({ says }) => says));
}

/** The same where the machine of one member is to go, for a while or for good: it has to be able to. */
export function doubtsOfLeaving(survey: EtcdSurvey, memberId: string): string[] {
  return bounded([...leavingDoubts(survey, memberId), ...doubtsOf(survey).map(({ says }) => says)]);
}

/** At most five of them, and how many more there are. */
export function bounded(sentences: string[]): string[] {
  const more = sentences.length - mostSentences;
  return more > 0 ? [...sentences.slice(0, mostSentences), `and ${more} more`] : sentences;
}

/**
 * The member that runs on a machine: by the host of its peer URLs, and where none has its address by the name of its node.
 * `Ambiguous` where several could be it.
 */
export function memberAt(
  { members }: EtcdSurvey,
  { addresses, node }: { addresses: readonly string[]; node: string },
): EtcdMember | undefined | "Ambiguous" {
  const hosts = addresses.map(hostOfAddress).filter((host) => host !== undefined);
  const there = members.filter(({ peerUrls }) => peerUrls.map(hostOf).some((host) => host && hosts.includes(host)));
  const found = there.length > 0 ? there : members.filter(({ name }) => name !== "" && name === node);
  return found.length > 1 ? "Ambiguous" : found[0];
}
