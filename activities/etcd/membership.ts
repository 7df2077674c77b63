/** Who is a member, changed: each order is given once, after a look of its own, and to a member that will stay. */
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
 * Takes a member off the list, where the others are a quorum without it, of which this call looks for itself; `survey`
 * says whom to ask. A member that is not there is removed.
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

/** Gives a learner its vote once it has what the others have. Until then it is `NotInSync`: ask again. */
export async function promoteLearner(access: EtcdAccess, survey: EtcdSurvey, id: string): Promise<EtcdPromotion> {
  const attempt = `promote ${named(survey.members, id)} of etcd`;
  const now = await fresh(access, survey, attempt);
  const learner = now.members.find((member) => member.id === id);
  if (!learner) return "Absent";
  // Of a voter that is behind, etcd says the same as of a learner that is.
  if (!learner.isLearner) return "Voter";
  // One that was in sync and went away would be given its vote: etcd goes by what it had last heard of it.
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

/** What is so now; where members do not agree about that nothing is changed. */
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
