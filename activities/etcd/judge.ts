/** Evaluates a survey: returns the reasons not to change the etcd now, as sentences; none if changes are safe. Pure. */
import type { EtcdMember, EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { hostOf, hostOfAddress } from "./endpoint.ts";
import { doubtsOfMembers, named } from "./member_doubts.ts";

const mostSentences = 5;

/** One reason not to change the etcd, as a sentence; with the id of the member if the reason concerns only one. */
export interface Doubt {
  member?: string;
  says: string;
}

/**
 * Returns the reasons not to remove a member or change the etcd now. Sentences omit numbers that fluctuate, so a
 * repeated check causes no new event.
 */
export function doubtsOf(survey: EtcdSurvey): Doubt[] {
  const { members, silence, leader, alarms } = survey;
  const whole = [
    ...(silence === undefined ? [] : [`the survey of etcd is inconclusive: ${silence}`]),
    ...(members.length === 0 ? ["etcd reports no members"] : []),
    ...(leader === "" && silence === undefined ? ["etcd has no leader"] : []),
    // An alarm of one member makes all members read-only.
    ...alarms.map(({ member, type }) => `alarm ${type} is raised for ${named(members, member)}`).sort(),
  ];
  return [...whole.map((says) => ({ says })), ...doubtsOfMembers(survey)];
}

/**
 * Returns the reasons of `doubtsOf` as at most five sentences, and if there are more, "and … more" with their number.
 */
export function wordsOf(survey: EtcdSurvey): string[] {
  return bounded(doubtsOf(survey).map(({ says }) => says));
}

/** Returns at most five sentences, and if there are more, "and … more" with their number. */
export function bounded(sentences: string[]): string[] {
  const more = sentences.length - mostSentences;
  return more > 0 ? [...sentences.slice(0, mostSentences), `and ${more} more`] : sentences;
}

/**
 * Returns the member that runs on a machine: by the host of its peer URLs, else by the name of the node; undefined if
 * no member matches, and "Ambiguous" if several do.
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
