/** The Schedule that renews credentials: one per installation, visible in the web UI under Schedules. */
import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from "@temporalio/client";
import type { Client, ScheduleOptions } from "@temporalio/client";
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { lookEveryMs } from "../activities/config/renewal.ts";
import type { ClusterIdentity } from "./cluster_identity.ts";
import { type Config, givenDeadlines } from "./config.ts";
import { renewalIdOf, renewalType } from "../workflows/commands/start_options.ts";

const plainId = renewalIdOf("");

/** Returns the id of the Schedule; Temporal appends the time to it for the ids of the runs. */
export function scheduleIdOf({ cluster }: Pick<Config, "cluster">): string {
  return renewalIdOf(cluster);
}

/** Milliseconds until the next check: after a success, because a user may delete the Schedule, and after a failure. */
const pauses = { standing: 600_000, failed: 5_000 };

export interface ScheduleDeps {
  connect: () => Promise<Client>;
  /** The cluster that owns the Schedule. */
  self: ClusterIdentity;
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  pauses?: { standing: number; failed: number };
}

/** Keeps the Schedule until `signal` aborts, and retries while Temporal is unreachable; never throws. */
export async function keepCredentialSchedule(config: Config, deps: ScheduleDeps): Promise<void> {
  const { connect, self, log, signal } = deps;
  const { standing, failed } = deps.pauses ?? pauses;
  let isCurrent = false;
  while (!signal.aborted) {
    try {
      await ensureCredentialSchedule(await connect(), { config, self, isCurrent });
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

/**
 * Creates the Schedule, or updates an existing one to the settings unless `isCurrent`; a paused Schedule stays paused.
 */
export async function ensureCredentialSchedule(
  client: Client,
  { config, self, isCurrent = false }: { config: Config; self: ClusterIdentity; isCurrent?: boolean },
): Promise<void> {
  const outcome = await createCredentialSchedule(client, config, self);
  if (isCurrent) return;
  if (outcome === "Present") await updateCredentialSchedule(client, config, self);
  await retirePlainSchedule(client, config, self);
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

// Deletes the Schedule from before the cluster had a name, because no worker serves its task queue any more.
async function retirePlainSchedule(client: Client, config: Config, self: ClusterIdentity): Promise<void> {
  if (config.cluster === "" || self.uid === "") return;
  const handle = client.schedule.getHandle(plainId);
  try {
    const owner = (await handle.describe()).action.memo?.["cluster"] as ClusterIdentity | undefined;
    if (owner?.uid === self.uid) await handle.delete();
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
