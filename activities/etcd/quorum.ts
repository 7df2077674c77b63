/** Whether votes suffice without one member. */
import type { EtcdMember, EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { named } from "./member_doubts.ts";

/** A voter that answers and follows the leader of all. */
export function isHealthyVoter({ isLearner, status }: EtcdMember, { leader }: EtcdSurvey): boolean {
  return !isLearner && status !== undefined && leader !== "" && status.leader === leader;
}

/** Nobody else votes: without it there is no etcd. */
export function isLastVoter(survey: EtcdSurvey, id: string): boolean {
  const voters = votersOf(survey);
  return voters.length === 1 && voters[0]?.id === id;
}

/** Votes that a decision takes, and voters that are healthy. */
export function quorumOf(survey: EtcdSurvey): { needed: number; well: number } {
  const voters = votersOf(survey);
  const well = voters.filter((member) => isHealthyVoter(member, survey)).length;
  return { needed: majorityOf(voters.length), well };
}

/** Why a machine may not go down while its member is still one, as it has a vote that nobody casts then. */
export function leavingDoubts(survey: EtcdSurvey, id: string): string[] {
  const voters = votersOf(survey);
  const needed = majorityOf(voters.length);
  const who = named(survey.members, id);
  if (!survey.members.some((member) => member.id === id)) return [`${who} is not in this etcd cluster`];
  const left = healthyOthers(survey, id);
  if (left >= needed) return [];
  if (isLastVoter(survey, id)) return [`${who} is the last voter: etcd cannot run without it`];
  if (voters.length === 2) return [`without ${who} ${left} of 2 voters remains, and 1 of 2 is not a quorum`];
  return [`without ${who} ${left} of ${voters.length} voters are healthy, and a quorum needs ${needed}`];
}

/** Why it may not be removed from the list of members, after which the others alone vote. */
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

function votersOf({ members }: EtcdSurvey): EtcdMember[] {
  return members.filter(({ isLearner }) => !isLearner);
}

function majorityOf(voters: number): number {
  return Math.floor(voters / 2) + 1;
}
