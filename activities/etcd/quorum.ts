/** Checks whether an etcd keeps a quorum without one of its members. */
import type { EtcdMember, EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { named } from "./member_doubts.ts";

/** Returns whether a member votes, responds, and follows the leader of the survey. */
export function isHealthyVoter({ isLearner, status }: EtcdMember, { leader }: EtcdSurvey): boolean {
  return !isLearner && status !== undefined && leader !== "" && status.leader === leader;
}

/** Returns whether the member is the only voter, without which etcd cannot run. */
export function isLastVoter(survey: EtcdSurvey, id: string): boolean {
  const voters = votersOf(survey);
  return voters.length === 1 && voters[0]?.id === id;
}

/** Returns the votes that a decision needs, and the number of healthy voters. */
export function quorumOf(survey: EtcdSurvey): { needed: number; well: number } {
  const voters = votersOf(survey);
  const well = voters.filter((member) => isHealthyVoter(member, survey)).length;
  return { needed: majorityOf(voters.length), well };
}

/**
 * Returns the reasons not to stop a voter's machine. A stopped voter still counts for the size of the quorum until its
 * removal, so the other healthy voters must be a majority of all voters.
 */
export function leavingDoubts(survey: EtcdSurvey, id: string): string[] {
  const voters = votersOf(survey);
  const needed = majorityOf(voters.length);
  const who = named(survey.members, id);
  if (!survey.members.some((member) => member.id === id)) return [`${who} is not in this etcd cluster`];
  const left = healthyOthers(survey, id);
  if (left >= needed) return [];
  if (isLastVoter(survey, id)) return [`${who} is the last voter: etcd cannot run without it`];
  if (voters.length === 2) return [`without ${who}, ${left} of 2 voters are healthy, and a quorum needs both`];
  return [`without ${who}, ${left} of ${voters.length} voters are healthy, and a quorum needs ${needed}`];
}

/**
 * Returns the reasons not to remove a member. After the removal only the other voters count, and must have a quorum.
 */
export function removalDoubts(survey: EtcdSurvey, id: string): string[] {
  const remaining = votersOf(survey).filter((member) => member.id !== id).length;
  const needed = majorityOf(remaining);
  const left = healthyOthers(survey, id);
  const who = named(survey.members, id);
  if (remaining === 0) return [`${who} is the last voter: etcd cannot run without it`];
  if (survey.leader === id) return [`${who} is the leader: move its leadership first`];
  if (left >= needed) return [];
  return [`${left} of the ${remaining} voters that remain without ${who} are healthy, and a quorum needs ${needed}`];
}

function healthyOthers(survey: EtcdSurvey, id: string): number {
  return survey.members.filter((member) => member.id !== id && isHealthyVoter(member, survey)).length;
}

/** Returns the members that vote. */
export function votersOf({ members }: EtcdSurvey): EtcdMember[] {
  return members.filter(({ isLearner }) => !isLearner);
}

function majorityOf(voters: number): number {
  return Math.floor(voters / 2) + 1;
}
