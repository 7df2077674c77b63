/** The Schedule that renews credentials: one per installation, visible in the web UI under Schedules. */
import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from "@temporalio/client";
import type { Client, ScheduleOptions } from "@temporalio/client";
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { lookEveryMs } from "../activities/config/renewal.ts";
import type { ClusterIdentity } from "./cluster_identity.ts";
import { type Config, givenDeadlines } from "./config.ts";
import { isServed } from "./current_version.ts";
import { renewalIdOf, renewalType } from "../workflows/commands/start_options.ts";

const plainId = renewalIdOf("");

/** Returns the id of the Schedule; Temporal appends the time to it for the ids of the runs. */
export function scheduleIdOf({ cluster }: Pick<Config, "cluster">): string {
  return renewalIdOf(cluster);
}

/** The least duration of a run of a Schedule, and the least pause between its end and the next run (ms). */
const runMs = { least: 600_000, before: 300_000 };

/**
 * Returns the milliseconds after which a run of a Schedule ends, if the Schedule starts one every `every` milliseconds.
 * No worker may serve the task queue of an open run any more, and an open run prevents all later runs.
 */
export function runTimeoutOf(every: number): number {
  return Math.max(runMs.least, every - runMs.before);
}

/** Milliseconds until the next check: after a success, because a user may delete the Schedule, and after a failure. */
const pauses = { standing: 600_000, failed: 5_000 };

export interface ScheduleDeps {
  connect: () => Promise<Client>;
  /** The cluster that owns the Schedule. */
  self: ClusterIdentity;
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  /** Whether runs from before the cluster had a name are still open. */
  hasUnnamedRuns?: () => boolean;
  pauses?: { standing: number; failed: number };
}

/** Keeps the Schedule until `signal` aborts, and retries while Temporal is unreachable; never throws. */
export async function keepCredentialSchedule(config: Config, deps: ScheduleDeps): Promise<void> {
  const { connect, self, log, signal, hasUnnamedRuns } = deps;
  const { standing, failed } = deps.pauses ?? pauses;
  let isCurrent = false;
  while (!signal.aborted) {
    try {
      await ensureCredentialSchedule(await connect(), { config, self, isCurrent, hasUnnamedRuns });
      if (!isCurrent) log.info("Schedule is set up", { scheduleId: scheduleIdOf(config) });
      isCurrent = true;
    } catch (error) {
      isCurrent = false;
      log.warn("Failed to set up the renewal of credentials; retrying", { error });
    }
    // The promise rejects only when the signal aborts, which ends the pause early.
    await setTimeout(isCurrent ? standing : failed, undefined, { signal }).catch(() => undefined);
  }
}

interface Ensured extends Pick<ScheduleDeps, "self"> {
  config: Config;
  isCurrent?: boolean;
  hasUnnamedRuns?: ScheduleDeps["hasUnnamedRuns"] | undefined;
}

/**
 * Creates the Schedule, or updates an existing one to the settings unless `isCurrent`; a paused Schedule stays paused.
 * Deletes the Schedule from before the cluster had a name, unless runs from then are open or workers from then run.
 */
export async function ensureCredentialSchedule(
  client: Client,
  { config, self, isCurrent = false, hasUnnamedRuns = () => false }: Ensured,
): Promise<void> {
  const outcome = await createCredentialSchedule(client, config, self);
  if (outcome === "Present" && !isCurrent) await updateCredentialSchedule(client, config, self);
  // Only that Schedule proves that these runs belong to this cluster; without it `startRollout` would not end them, and
  // two runs would roll out one pool.
  if (!hasUnnamedRuns()) await retirePlainSchedule(client, config, self);
}

/** Creates the Schedule; leaves an existing one unchanged. */
export async function createCredentialSchedule(
  client: Client,
  config: Config,
  self: ClusterIdentity,
): Promise<"Created" | "Present"> {
  try {
    await client.schedule.create(credentialSchedule(config, self));
    return "Created";
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return "Present";
    throw error;
  }
}

/** Updates an existing Schedule to the settings, and writes its owner; a paused Schedule stays paused. */
export async function updateCredentialSchedule(client: Client, config: Config, self: ClusterIdentity): Promise<void> {
  const wanted = credentialSchedule(config, self);
  const { scheduleId, memo: _, ...update } = wanted;
  const handle = client.schedule.getHandle(scheduleId);
  await handle.update(({ state, action: { memo } }) => ({
    ...update,
    // A process that does not know the UID of its cluster keeps the recorded owner.
    action: self.uid === "" && memo ? { ...update.action, memo } : update.action,
    state: state.paused ? state : wanted.state ?? {},
  }));
}

// Deletes the Schedule from before the cluster had a name. While a worker serves its task queue, the Schedule stays:
// the worker would create it again, and in a copy of a cluster it is the Schedule of the original.
async function retirePlainSchedule(client: Client, config: Config, self: ClusterIdentity): Promise<void> {
  if (config.cluster === "" || self.uid === "") return;
  const handle = client.schedule.getHandle(plainId);
  try {
    const { action: { memo, taskQueue } } = await handle.describe();
    const owner = memo?.["cluster"] as ClusterIdentity | undefined;
    if (owner?.uid !== self.uid) return;
    // The workers of this cluster may have the task queue from then; its runs are of no use to them.
    if (taskQueue === config.taskQueue || !await isServed(client, config, taskQueue)) await handle.delete();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}

function credentialSchedule(config: Config, self: ClusterIdentity): ScheduleOptions {
  const every = lookEveryMs(config.credentialSeconds);
  const purpose =
    "Renews the credentials that new machines boot with, before a third of their lifetime is over. While the Schedule is " +
    "paused, new machines may be unable to join.";
  return {
    scheduleId: scheduleIdOf(config),
    spec: { intervals: [{ every }] },
    action: {
      type: "startWorkflow",
      workflowType: renewalType,
      workflowId: scheduleIdOf(config),
      taskQueue: config.taskQueue,
      workflowExecutionTimeout: runTimeoutOf(every),
      args: [{ ...(config.cluster === "" ? {} : { cluster: config.cluster }), ...givenDeadlines(config) }],
      // The owner is in the memo of the action, because the memo of the Schedule itself cannot be updated.
      ...(self.uid === "" ? {} : { memo: { cluster: { ...self } } }),
      staticSummary: "Renew credentials that are due",
      staticDetails:
        "Renews due credentials of unchanged pools itself, and starts or signals the rollouts of other pools with due credentials.",
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: Math.max(every, 60_000) },
    memo: { purpose },
    state: { note: purpose },
  };
}
