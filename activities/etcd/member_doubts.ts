/**
 * Finds reasons not to change an etcd: those in the state of single members, and those in the versions that members
 * run.
 */
import type { EtcdMember, EtcdStatus, EtcdSurvey } from "../../workflows/contracts/mod.ts";

/** Maximum entries that a follower may be behind the leader; etcd itself stops writes at as many unapplied entries. */
const longestLag = 5_000;
/**
 * Share of its quota above which a database counts as full: the next writes may raise alarm NOSPACE, and a joining
 * member causes writes.
 */
const fullShare = 0.9;

/**
 * Returns the reasons as sentences. Reasons in the state of a single member come first, sorted by the member's name and
 * id, with the id in `member`. Reasons in the versions of all members follow, without `member`.
 */
export function doubtsOfMembers(survey: EtcdSurvey): { member?: string; says: string }[] {
  const members = survey.members.toSorted((a, b) => compare(a.name, b.name) || compare(a.id, b.id));
  return [
    ...members.flatMap((member) => doubtsOfOne(member, survey).map((says) => ({ member: member.id, says }))),
    ...versionDoubts(members).map((says) => ({ says })),
  ];
}

/** Returns how messages name a member: by its name, or by its id if the name is empty. */
export function named(members: EtcdMember[], id: string): string {
  const name = members.find((member) => member.id === id)?.name ?? "";
  return `member "${name === "" ? id : name}"`;
}

function doubtsOfOne(member: EtcdMember, survey: EtcdSurvey): string[] {
  const { id, name, isLearner, status, silence = "no request was sent" } = member;
  const who = named(survey.members, id);
  if (name === "" && !status) return [`${isLearner ? "learner" : "voter"} "${id}" never started: ${silence}`];
  return [
    ...(isLearner ? [`${who} is a learner and does not vote yet`] : []),
    ...(status ? doubtsOfStatus(who, status, survey) : [`${who} does not respond: ${silence}`]),
  ];
}

function doubtsOfStatus(who: string, status: EtcdStatus, survey: EtcdSurvey): string[] {
  const { leader, raftIndex, dbSize, dbQuota, errors } = status;
  const lag = leaderIndex(survey) - raftIndex;
  const leaders = `follows leader "${leader}", while others follow "${survey.leader}"`;
  const isDivided = survey.leader !== "" && leader !== survey.leader;
  const told = errors.filter((error) => !/alarm|no leader/i.test(error));
  return [
    ...(isDivided ? [`${who} ${leader === "" ? "has no leader" : leaders}`] : []),
    ...told.map((error) => `${who} reports an error: "${error}"`),
    ...(lag > longestLag ? [`${who} is more than ${longestLag} entries behind the leader`] : []),
    ...(dbQuota && dbSize > dbQuota * fullShare
      ? [`${who} has a database at more than ${fullShare * 100}% of its quota`]
      : []),
  ];
}

function leaderIndex({ members, leader }: EtcdSurvey): number {
  return members.find(({ id }) => id === leader)?.status?.raftIndex ?? 0;
}

// Returns a reason if members run versions that differ by more than one minor version, which etcd does not support. A
// difference of one minor version is typical during an upgrade.
function versionDoubts(members: EtcdMember[]): string[] {
  const versions = members.map(({ status }) => status?.version ?? "").filter((version) => /^\d+\.\d+\./.test(version))
    .sort((a, b) => minorOf(a) - minorOf(b));
  const [lowest, highest] = [versions[0], versions.at(-1)];
  if (!lowest || !highest || minorOf(highest) - minorOf(lowest) <= 1) return [];
  return [`members run versions "${lowest}" and "${highest}"; etcd supports a difference of one minor version`];
}

function minorOf(version: string): number {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major * 1000 + minor;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
