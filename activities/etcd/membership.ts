/**
 * Removes and promotes members of an etcd. Sends each request once, right after a survey, to the leader, which is never
 * the removed member.
 */
import type { EtcdMember, EtcdPromotion, EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { unavailable } from "../failures.ts";
import { throwIfCalledOff } from "../kube/paced_http.ts";
import type { EtcdAccess } from "./access.ts";
import { EtcdConnection } from "./connection.ts";
import { EtcdFault, failureOf } from "./fault.ts";
import { named } from "./member_doubts.ts";
import { isHealthyVoter, removalDoubts } from "./quorum.ts";
import { surveyEtcd } from "./survey.ts";

/**
 * Removes a member if the others form a quorum without it, according to a new survey; `survey` only provides endpoints.
 * An absent member counts as success.
 */
export async function removeMember(access: EtcdAccess, survey: EtcdSurvey, id: string): Promise<"Removed" | "Absent"> {
  const attempt = `remove ${named(survey.members, id)} from etcd`;
  const now = await fresh(access, survey, attempt);
  if (!now.members.some((member) => member.id === id)) return "Absent";
  const [doubt] = removalDoubts(now, id);
  if (doubt !== undefined) throw unavailable(`Failed to ${attempt}: ${doubt}`);
  const endpoint = leadingEndpoint(now, attempt);
  throwIfCalledOff();
  try {
    await new EtcdConnection(access).remove(endpoint, id);
    return "Removed";
  } catch (error) {
    if (error instanceof EtcdFault && error.kind === "NotFound") return "Absent";
    throw failureOf(attempt, error);
  }
}

/**
 * Promotes a learner to a voter once it is in sync. Returns "NotInSync" until then, and the caller retries; returns
 * "Voter" for a member that is a voter already, and "Absent" for an absent member.
 */
export async function promoteLearner(access: EtcdAccess, survey: EtcdSurvey, id: string): Promise<EtcdPromotion> {
  const attempt = `promote ${named(survey.members, id)} of etcd`;
  const now = await fresh(access, survey, attempt);
  const learner = now.members.find((member) => member.id === id);
  if (!learner) return "Absent";
  // For a voter that lags behind, etcd would return the same error as for a learner.
  if (!learner.isLearner) return "Voter";
  // A learner that does not respond would be promoted, because etcd uses its last known progress.
  if (!learner.status) return "NotInSync";
  const endpoint = leadingEndpoint(now, attempt);
  throwIfCalledOff();
  try {
    await new EtcdConnection(access).promote(endpoint, id);
    return "Promoted";
  } catch (error) {
    const outcome = error instanceof EtcdFault ? outcomes[error.kind] : undefined;
    if (outcome) return outcome;
    throw failureOf(attempt, error);
  }
}

const outcomes: { [kind in EtcdFault["kind"]]?: EtcdPromotion } = {
  NotInSync: "NotInSync",
  NotLearner: "Voter",
  NotFound: "Absent",
};

/** Returns a new survey. Throws Transient if the survey is incomplete, because members must not be changed then. */
async function fresh(access: EtcdAccess, { endpoints }: EtcdSurvey, attempt: string): Promise<EtcdSurvey> {
  const now = await surveyEtcd(access, endpoints);
  if (now.silence !== undefined) throw unavailable(`Failed to ${attempt}: ${now.silence}`);
  return now;
}

function leadingEndpoint(survey: EtcdSurvey, attempt: string): string {
  const leader: EtcdMember | undefined = survey.members.find(({ id }) => id === survey.leader);
  if (leader?.endpoint !== undefined && isHealthyVoter(leader, survey)) return leader.endpoint;
  throw unavailable(`Failed to ${attempt}: the etcd leader does not respond`);
}
