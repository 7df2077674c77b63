/** Moves the leadership of an etcd away from a member before its removal. */
import { setTimeout as pause } from "node:timers/promises";
import type { EtcdMember, EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { unavailable } from "../failures.ts";
import { throwIfCalledOff } from "../kube/paced_http.ts";
import type { EtcdAccess } from "./access.ts";
import { EtcdConnection } from "./connection.ts";
import { EtcdFault, failureOf } from "./fault.ts";
import { named } from "./member_doubts.ts";
import { isHealthyVoter } from "./quorum.ts";
import { surveyEtcd } from "./survey.ts";

const seenMs = 10_000;
const betweenMs = 200;

/**
 * Transfers the leadership from member `from` to the most advanced healthy voter; does nothing if another member leads
 * already. Returns the id of the member that leads at the end. `survey` only provides endpoints; the current state
 * comes from a new survey.
 */
export async function moveLeadership(access: EtcdAccess, survey: EtcdSurvey, from: string): Promise<string> {
  const attempt = `move the leadership of etcd away from ${named(survey.members, from)}`;
  const now = await surveyEtcd(access, survey.endpoints);
  if (now.silence !== undefined) throw unavailable(`Failed to ${attempt}: ${now.silence}`);
  if (now.leader === "") throw unavailable(`Failed to ${attempt}: etcd has no leader`);
  if (now.leader !== from) return now.leader;
  const { leader, heir } = partiesOf(now, from);
  if (!leader) {
    throw unavailable(
      `Failed to ${attempt}: the leader does not respond, and only the leader can transfer its leadership`,
    );
  }
  if (!heir) throw unavailable(`Failed to ${attempt}: no other voter is healthy`);
  throwIfCalledOff();
  const connection = new EtcdConnection(access);
  try {
    await connection.transferLeadership(leader, heir.id);
    return await newLeader(connection, { heir, from, attempt });
  } catch (error) {
    throw failureOf(attempt, error);
  }
}

/** The member that gets the leadership: the healthy voter that is most advanced. */
interface Heir extends EtcdMember {
  endpoint: string;
}

function partiesOf(survey: EtcdSurvey, from: string): { leader: string | undefined; heir: Heir | undefined } {
  const leader = survey.members.find(({ id }) => id === from)?.endpoint;
  const others = survey.members.filter((member): member is Heir =>
    member.id !== from && member.endpoint !== undefined && isHealthyVoter(member, survey)
  );
  const index = ({ status }: EtcdMember): number => status?.raftIndex ?? 0;
  const [heir] = others.sort((a, b) => index(b) - index(a));
  return { leader, heir };
}

/**
 * Reads the status of `heir` until it reports another leader than `from`, and returns that leader. Throws Transient
 * after 10 s.
 */
async function newLeader(
  connection: EtcdConnection,
  { heir, from, attempt }: { heir: Heir; from: string; attempt: string },
): Promise<string> {
  for (const until = Date.now() + seenMs; Date.now() < until; await pause(betweenMs)) {
    throwIfCalledOff();
    const leader = await connection.status(heir.endpoint).then((told) => told.leader, unlessFault);
    if (leader !== "" && leader !== from) return leader;
  }
  throw unavailable(`Failed to ${attempt}: no other member leads ${seenMs / 1000} s after the request`);
}

function unlessFault(error: unknown): string {
  if (!(error instanceof EtcdFault)) throw error;
  return ""; // `newLeader` reads the status again
}
