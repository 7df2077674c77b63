/**
 * Claims a task queue of Temporal for one cluster: the Schedule that renews credentials records the UID of its cluster.
 * Two clusters with the same Schedule or task queue would run each other's workflows, so the later one is refused. A
 * process that cannot read the UID of its cluster is refused if the Schedule records a UID, and accepted otherwise.
 */
import type { Client, ScheduleDescription } from "@temporalio/client";
import { ScheduleNotFoundError } from "@temporalio/client";
import { setTimeout } from "node:timers/promises";
import type { ClusterIdentity } from "./cluster_identity.ts";
import { clusterText } from "./cluster_identity.ts";
import type { Config } from "./config.ts";
import { renewalType } from "../workflows/commands/start_options.ts";
import { createCredentialSchedule, scheduleIdOf, updateCredentialSchedule } from "./credential_schedule.ts";

/**
 * Another cluster owns the Schedule or the task queue: this process must not serve until an administrator changes a
 * setting.
 */
export class ClusterConflict extends Error {
  override name = "ClusterConflict";
}

/** A Schedule that renews credentials, with the owner and task queue that it has now. */
interface Standing {
  scheduleId: string;
  owner: ClusterIdentity | undefined;
  taskQueue: string;
  createdAt: number;
}

/**
 * Number of times that all other Schedules on the same task queue are checked. A cluster that starts later sees this
 * cluster's Schedule and is refused; the second check is for two clusters that started at the same time and did not see
 * each other.
 */
const enoughLooks = 2;

/** The claim of one installation, which a process checks periodically. */
export class Claim {
  readonly #config: Config;
  readonly #confirmMs: number;
  #looks = 0;

  /** `confirmMs` must be longer than another cluster takes from its read of a Schedule to its write. */
  constructor(config: Config, { confirmMs = 2_000 }: { confirmMs?: number } = {}) {
    this.#config = config;
    this.#confirmMs = confirmMs;
  }

  /**
   * Claims the Schedule and the queue for this cluster. Reads the Schedule again to confirm a new claim, because
   * another cluster may have written at the same time. Throws ClusterConflict if another cluster owns either of them.
   */
  async hold(client: Client, self: ClusterIdentity): Promise<void> {
    const own = await readStanding(client, scheduleIdOf(this.#config)) ?? await this.#create(client, self);
    if (isOther(own.owner, self)) throw conflict(this.#config, self, own);
    if (this.#looks < enoughLooks) {
      await this.#lookAtOthers(client, { own, self });
      this.#looks += 1;
    }
    if (!own.owner && self.uid !== "") await this.#takeOver(client, self);
  }

  /** Creates the Schedule unless another process created it first; returns the Schedule that exists then. */
  async #create(client: Client, self: ClusterIdentity): Promise<Standing> {
    // The new Schedule is younger than those of other clusters, which may own the task queue, so both checks of their
    // Schedules are due again.
    this.#looks = 0;
    await this.#lookAtOthers(client, { own: undefined, self });
    await createCredentialSchedule(client, this.#config, self);
    return await this.#readOwn(client);
  }

  /** Writes the cluster's identity to a Schedule that has none. Of two clusters that write, the last one owns it. */
  async #takeOver(client: Client, self: ClusterIdentity): Promise<void> {
    await updateCredentialSchedule(client, this.#config, self);
    await setTimeout(this.#confirmMs);
    const own = await this.#readOwn(client);
    if (isOther(own.owner, self)) throw conflict(this.#config, self, own);
  }

  async #readOwn(client: Client): Promise<Standing> {
    const scheduleId = scheduleIdOf(this.#config);
    const own = await readStanding(client, scheduleId);
    if (!own) throw new Error(`Failed to claim Schedule "${scheduleId}": it was deleted; retrying`);
    return own;
  }

  async #lookAtOthers(
    client: Client,
    { own, self }: { own: Standing | undefined; self: ClusterIdentity },
  ): Promise<void> {
    const config = this.#config;
    // A cluster that changes its task queue counts as later than all clusters on that queue.
    const since = own?.taskQueue === config.taskQueue ? own.createdAt : Infinity;
    for await (const other of othersOf(client, config)) {
      const isThere = other.taskQueue === config.taskQueue && other.createdAt < since;
      if (isThere && isOther(other.owner, self)) throw conflict(config, self, other);
    }
  }
}

// An owner whose UID is unknown may be this cluster, so it does not conflict.
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
  const theirs = `Schedule "${scheduleId}" on task queue "${taskQueue}" belongs to ${clusterText(owner ?? self)}`;
  const proof = self.uid === "" ? 'allow the service account of this process to get namespace "kube-system", or ' : "";
  const way = `${proof}set a unique --cluster (OSTLER_CLUSTER) and --task-queue for each cluster; ` +
    "if the other cluster no longer exists, delete its Schedule and terminate its runs";
  return new ClusterConflict(`Failed to serve ${clusterText(self)} on ${place}: ${theirs}; ${way}`);
}
