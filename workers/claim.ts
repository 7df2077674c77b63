/**
 * Says whose a place in Temporal is: the Schedule of an installation bears the identity of its cluster. Two clusters
 * that have one Schedule, or one task queue, would take each other's runs; the later one is refused. Who cannot prove
 * which cluster it is gets no place that bears an identity, and may be the only one at a place that bears none.
 */
import type { Client, ScheduleDescription } from "@temporalio/client";
import { ScheduleNotFoundError } from "@temporalio/client";
import type { ClusterIdentity } from "./cluster_identity.ts";
import { clusterText } from "./cluster_identity.ts";
import type { Config } from "./config.ts";
import { renewalType } from "../workflows/commands/start_options.ts";
import { createCredentialSchedule, scheduleIdOf, updateCredentialSchedule } from "./credential_schedule.ts";

/** Another cluster has the place: nothing may be served until somebody changes a setting. */
export class ClusterConflict extends Error {
  override name = "ClusterConflict";
}

/** A Schedule that renews credentials, and whose it is; identity and queue as they stand there. */
interface Standing {
  scheduleId: string;
  owner: ClusterIdentity | undefined;
  taskQueue: string;
  createdAt: number;
}

/**
 * Looks at the Schedules of all others that have to find the queue free. Whoever comes later looks at ours, and is
 * refused; the second look, a while after the first, is for two that came at once and did not see each other.
 */
const enoughLooks = 2;

/** The place of one installation, as a process claims it again and again. */
export class Claim {
  readonly #config: Config;
  #looks = 0;

  constructor(config: Config) {
    this.#config = config;
  }

  /** Makes the place ours, or finds that it is; one of before identities were kept is taken over. Throws ClusterConflict. */
  async hold(client: Client, self: ClusterIdentity): Promise<void> {
    const config = this.#config;
    const own = await readStanding(client, scheduleIdOf(config));
    if (own && isOther(own.owner, self)) throw conflict(config, self, own);
    // A Schedule that is made anew is younger than those of others.
    if (!own) this.#looks = 0;
    if (this.#looks < enoughLooks) await this.#lookAtOthers(client, { own, self });
    if (!own) return void await createCredentialSchedule(client, config, self);
    if (!own.owner && self.uid !== "") await updateCredentialSchedule(client, config, self);
  }

  async #lookAtOthers(
    client: Client,
    { own, self }: { own: Standing | undefined; self: ClusterIdentity },
  ): Promise<void> {
    const config = this.#config;
    // Who moves to another queue comes later than all that are there.
    const since = own?.taskQueue === config.taskQueue ? own.createdAt : Infinity;
    for await (const other of othersOf(client, config)) {
      const isThere = other.taskQueue === config.taskQueue && other.createdAt < since;
      if (isThere && isOther(other.owner, self)) throw conflict(config, self, other);
    }
    this.#looks += 1;
  }
}

// Who has not proven an identity may be anybody.
function isOther(owner: ClusterIdentity | undefined, self: ClusterIdentity): boolean {
  return owner !== undefined && owner.uid !== "" && owner.uid !== self.uid;
}

async function readStanding(client: Client, scheduleId: string): Promise<Standing | undefined> {
  try {
    return standingOf(await client.schedule.getHandle(scheduleId).describe());
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return undefined;
    throw error;
  }
}

/** Returns the cluster that a Schedule belongs to; undefined if it does not exist, or names none. */
export async function ownerOfSchedule(client: Client, scheduleId: string): Promise<ClusterIdentity | undefined> {
  return (await readStanding(client, scheduleId))?.owner;
}

async function* othersOf(client: Client, config: Config): AsyncIterable<Standing> {
  for await (const { scheduleId, action } of client.schedule.list()) {
    if (action?.workflowType !== renewalType || scheduleId === scheduleIdOf(config)) continue;
    const standing = await readStanding(client, scheduleId);
    if (standing) yield standing;
  }
}

function standingOf({ scheduleId, action, info }: ScheduleDescription): Standing {
  const { uid, name } = (action.memo?.["cluster"] ?? {}) as Partial<ClusterIdentity>;
  const owner = uid === undefined ? undefined : { uid, name: name ?? "" };
  return { scheduleId, owner, taskQueue: action.taskQueue, createdAt: info.createdAt.getTime() };
}

function conflict(config: Config, self: ClusterIdentity, { scheduleId, owner, taskQueue }: Standing): ClusterConflict {
  const { temporal: { namespace }, taskQueue: wanted } = config;
  const place = `task queue "${wanted}" of Temporal's namespace "${namespace}"`;
  const theirs = `Schedule "${scheduleId}" on task queue "${taskQueue}" is of ${clusterText(owner ?? self)}`;
  const proof = self.uid === "" ? 'let its service account get namespace "kube-system", which proves that; or ' : "";
  const way = `${proof}give each cluster a name of its own with --cluster (OSTLER_CLUSTER), and no --task-queue that ` +
    `another has; of a cluster that is no more, delete the Schedule`;
  return new ClusterConflict(`Cannot serve ${clusterText(self)} on ${place}: ${theirs}; ${way}`);
}
