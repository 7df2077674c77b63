/** Surveys all members of an etcd, also without a quorum: missing information is reported, not thrown. */
import type { EtcdAlarm, EtcdMember, EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { refused } from "../failures.ts";
import { sideBySide } from "../kube/status.ts";
import type { EtcdAccess } from "./access.ts";
import type { MemberList } from "./answers.ts";
import { EtcdConnection } from "./connection.ts";
import { endpointOf } from "./endpoint.ts";
import { EtcdFault, failureOf, isLasting, lasting } from "./fault.ts";
import { agreedList, ownList } from "./member_list.ts";
import { type Sighting, sightingsAt, urlsToAsk } from "./sighting.ts";
import { memberSeen } from "./survey_member.ts";

const attempt = "survey etcd";
const mostEndpoints = 32;

/**
 * Queries the endpoints (https://host:port) concurrently for the members, their statuses and the alarms. Takes at most
 * 10 s. The client certificate is sent only to hosts of the endpoints, even if a list of members contains others.
 * Throws Refused if all responding endpoints reject the credentials or are not trusted.
 */
export async function surveyEtcd(access: EtcdAccess, endpoints: readonly string[]): Promise<EtcdSurvey> {
  const asked = [...new Set(endpoints.map((text) => endpointOf(text) ?? throwNoEndpoint()))];
  if (asked.length === 0 || asked.length > mostEndpoints) throwNoEndpoint();
  const connection = new EtcdConnection(access);
  try {
    return await look(connection, asked);
  } catch (error) {
    throw failureOf(attempt, error);
  }
}

async function look(connection: EtcdConnection, endpoints: string[]): Promise<EtcdSurvey> {
  const hopeless = new AbortController();
  const seen = async (): Promise<Sighting[]> => {
    const sightings = await sightingsAt(connection, endpoints);
    if (isLeaderless(sightings)) hopeless.abort(new EtcdFault("NoQuorum", "no member that responds has a leader"));
    return sightings;
  };
  const [agreed, sightings] = await sideBySide(agreedList(connection, endpoints, hopeless.signal), seen());
  if (!(agreed instanceof Array)) return await survey(connection, { endpoints, sightings, ...agreed });
  throwIfLockedOut(agreed, sightings);
  const list = await ownList(connection, sightings);
  const members = (list?.members ?? []).map((member) => memberSeen(member, { list, sightings }));
  return { members, leader: "", alarms: [], endpoints, silence: silenceOf(agreed, sightings) };
}

// Returns whether members respond, but none of them has a leader. Such members would answer the linearizable request
// for the list of members only after seven seconds, so that request is cancelled.
function isLeaderless(sightings: Sighting[]): boolean {
  const answering = sightings.flatMap(({ told }) => told ? [told] : []);
  return answering.length > 0 && answering.every(({ leader }) => leader === "");
}

interface Seen {
  endpoints: string[];
  /** The endpoint that answered with the list. */
  endpoint: string;
  list: MemberList;
  sightings: Sighting[];
}

async function survey(connection: EtcdConnection, seen: Seen): Promise<EtcdSurvey> {
  const { list, endpoint, endpoints } = seen;
  const [more, alarms] = await sideBySide(
    sightingsAt(connection, urlsToAsk(list, seen)),
    alarmsAt(connection, endpoint),
  );
  const sightings = [...seen.sightings, ...more];
  const members = list.members.map((member) => memberSeen(member, { list, sightings }));
  const silences = [...("silence" in alarms ? [alarms.silence] : []), ...strangers(list, sightings)];
  return {
    ...{ members, endpoints, leader: leaderOf(members) },
    alarms: "found" in alarms ? alarms.found : [],
    ...(silences.length === 0 ? {} : { silence: silences.join("; ") }),
  };
}

async function alarmsAt(
  connection: EtcdConnection,
  endpoint: string,
): Promise<{ found: EtcdAlarm[] } | { silence: string }> {
  try {
    const alarms = await connection.alarms(endpoint);
    return { found: alarms.map(({ memberID: member, alarm: type }) => ({ member, type })) };
  } catch (error) {
    if (!(error instanceof EtcdFault)) throw error;
    return { silence: `the alarms of etcd cannot be read: ${error.message}` };
  }
}

/** Returns the id of the leader in the latest term; "" if no member reports a leader of that term. */
function leaderOf(members: EtcdMember[]): string {
  const told = members.flatMap(({ status }) => status ? [status] : []);
  const term = Math.max(0, ...told.map(({ raftTerm }) => raftTerm));
  return told.find(({ raftTerm, leader }) => raftTerm === term && leader !== "")?.leader ?? "";
}

/**
 * Returns a sentence for each endpoint of another etcd cluster, such as a machine whose etcd was bootstrapped anew; the
 * statuses from such endpoints do not apply to this cluster.
 */
function strangers({ header }: MemberList, sightings: Sighting[]): string[] {
  return sightings.filter(({ told }) => told && told.header.cluster_id !== header.cluster_id)
    .map(({ endpoint }) => `"${endpoint}" is a member of another etcd cluster`);
}

function throwIfLockedOut(faults: EtcdFault[], sightings: Sighting[]): void {
  const found = faults.find(isLasting);
  if (found && sightings.every(({ told }) => !told)) throw lasting(attempt, found);
}

function silenceOf(faults: EtcdFault[], sightings: Sighting[]): string {
  const answering = sightings.filter(({ told }) => told);
  const counted = `${answering.length} of ${sightings.length} endpoints respond`;
  if (answering.length === 0) return `no endpoint responds: ${faults[0]?.message ?? counted}`;
  if (isLeaderless(sightings)) return `etcd has no leader and no quorum: ${counted}`;
  const reason = (faults.find(({ kind }) => kind === "NoQuorum") ?? faults[0])?.message ?? "";
  return `etcd has no quorum: ${counted}, ${reason}`;
}

function throwNoEndpoint(): never {
  const needed = `1 to ${mostEndpoints} endpoints such as "https://10.0.0.1:2379" are required`;
  throw refused("EtcdAccessMissing", `Failed to ${attempt}: ${needed}`);
}
