/**
 * Says whose a place in Temporal is: the Schedule of an installation bears the identity of its cluster. Two clusters
 * that have one Schedule, or one task queue, would take each other's runs; the later one is refused.
 */
import type { Client, ScheduleDescription } from "@temporalio/client";
import { ScheduleNotFoundError } from "@temporalio/client";
import type { ClusterIdentity } from "./cluster_identity.ts";
import { clusterText } from "./cluster_identity.ts";
import type { Config } from "./config.ts";
import { createCredentialSchedule, renewal, scheduleIdOf, updateCredentialSchedule } from "./credential_schedule.ts";

/** Another cluster has the place: nothing may be served until somebody changes a setting. */
export class ClusterConflict extends Error {
  override name = "ClusterConflict";
}

/** A Schedule that renews credentials, and whose it is; identity and queue as they stand there. */
interface Claim {
  scheduleId: string;
  owner: ClusterIdentity | undefined;
  taskQueue: string;
  createdAt: number;
}

/** Makes the place ours, or finds that it is; one of before identities were kept is taken over. Throws ClusterConflict. */
export async function claimPlace(client: Client, config: Config, self: ClusterIdentity): Promise<void> {
  const own = await readClaim(client, scheduleIdOf(config));
  if (own?.owner && isOther(own.owner, self)) throw conflict(config, self, own);
  for await (const other of otherClaims(client, config)) {
    const isEarlier = !own || other.createdAt < own.createdAt;
    if (other.taskQueue === config.taskQueue && isOther(other.owner, self) && isEarlier) {
      throw conflict(config, self, other);
    }
  }
  if (!own) return void await createCredentialSchedule(client, config, self);
  if (!own.owner && self.uid !== "") await updateCredentialSchedule(client, config, self);
}

// Without a UID nobody can be told from anybody.
function isOther(owner: ClusterIdentity | undefined, self: ClusterIdentity): boolean {
  return owner !== undefined && owner.uid !== "" && self.uid !== "" && owner.uid !== self.uid;
}

async function readClaim(client: Client, scheduleId: string): Promise<Claim | undefined> {
  try {
    return claimOf(await client.schedule.getHandle(scheduleId).describe());
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

async function* otherClaims(client: Client, config: Config): AsyncIterable<Claim> {
  for await (const { scheduleId, action } of client.schedule.list()) {
    if (action?.workflowType !== renewal || scheduleId === scheduleIdOf(config)) continue;
    const claim = await readClaim(client, scheduleId);
    if (claim) yield claim;
  }
}

function claimOf({ scheduleId, action, info }: ScheduleDescription): Claim {
  const { uid, name } = (action.memo?.["cluster"] ?? {}) as Partial<ClusterIdentity>;
  const owner = uid === undefined ? undefined : { uid, name: name ?? "" };
  return { scheduleId, owner, taskQueue: action.taskQueue, createdAt: info.createdAt.getTime() };
}

function conflict(config: Config, self: ClusterIdentity, { scheduleId, owner, taskQueue }: Claim): ClusterConflict {
  const { temporal: { namespace }, taskQueue: wanted } = config;
  const place = `task queue "${wanted}" of Temporal's namespace "${namespace}"`;
  const theirs = `Schedule "${scheduleId}" on task queue "${taskQueue}" is of ${clusterText(owner ?? self)}`;
  const way =
    "give each cluster a name of its own with --cluster (OSTLER_CLUSTER), and no --task-queue that another has" +
    `; of a cluster that is no more, delete the Schedule`;
  return new ClusterConflict(`Cannot serve ${clusterText(self)} on ${place}: ${theirs}; ${way}`);
}
