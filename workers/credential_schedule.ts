/** The Schedule that has credentials renewed: one for the installation, in the web UI under Schedules. */
import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from "@temporalio/client";
import type { Client, ScheduleOptions } from "@temporalio/client";
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { lookEveryMs } from "../activities/config/renewal.ts";
import type { ClusterIdentity } from "./cluster_identity.ts";
import { type Config, givenDeadlines } from "./config.ts";
import { renewalIdOf, renewalType } from "../workflows/commands/start_options.ts";

const plainId = renewalIdOf("");

/** Id of the Schedule, and of its runs, to which Temporal adds the time. */
export function scheduleIdOf({ cluster }: Pick<Config, "cluster">): string {
  return renewalIdOf(cluster);
}

/** Milliseconds until the Schedule is looked for again: when it stands, as somebody may delete it, and when not. */
const pauses = { standing: 600_000, failed: 5_000 };

export interface ScheduleDeps {
  connect: () => Promise<Client>;
  /** Whose it is. */
  self: ClusterIdentity;
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  pauses?: { standing: number; failed: number };
}

/** Keeps the Schedule there until `signal` aborts, also where Temporal comes and goes; never fails. */
export async function keepCredentialSchedule(config: Config, deps: ScheduleDeps): Promise<void> {
  const { connect, self, log, signal } = deps;
  const { standing, failed } = deps.pauses ?? pauses;
  let isCurrent = false;
  while (!signal.aborted) {
    try {
      await ensureCredentialSchedule(await connect(), { config, self, isCurrent });
      if (!isCurrent) log.info("Schedule stands", { scheduleId: scheduleIdOf(config) });
      isCurrent = true;
    } catch (error) {
      isCurrent = false;
      log.warn("Failed to set up the renewal of credentials; retrying", { error });
    }
    // Aborting ends the rest early; nothing else can be thrown.
    await setTimeout(isCurrent ? standing : failed, undefined, { signal }).catch(() => undefined);
  }
}

/** Creates the Schedule, or brings it to what the settings say now unless that is known; paused it stays paused. */
export async function ensureCredentialSchedule(
  client: Client,
  { config, self, isCurrent = false }: { config: Config; self: ClusterIdentity; isCurrent?: boolean },
): Promise<void> {
  const outcome = await createCredentialSchedule(client, config, self);
  if (isCurrent) return;
  if (outcome === "Present") await updateCredentialSchedule(client, config, self);
  await retirePlainSchedule(client, config, self);
}

/** Creates the Schedule; one that is there stays as it is. */
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

/** Brings a Schedule that is there to the settings, and writes on it whose it is; paused it stays paused. */
export async function updateCredentialSchedule(client: Client, config: Config, self: ClusterIdentity): Promise<void> {
  const wanted = credentialSchedule(config, self);
  const { scheduleId, memo: _, ...update } = wanted;
  const handle = client.schedule.getHandle(scheduleId);
  await handle.update(({ state, action: { memo } }) => ({
    ...update,
    // Who cannot tell its own cluster leaves standing whose it is.
    action: self.uid === "" && memo ? { ...update.action, memo } : update.action,
    state: state.paused ? state : wanted.state ?? {},
  }));
}

// The one of before the cluster had a name: nobody may serve its queue any more.
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
    "Renews the credentials that new machines boot with, before a third of their life is over. While it is " +
    "paused, machines may be made that cannot join.";
  return {
    scheduleId: scheduleIdOf(config),
    spec: { intervals: [{ every }] },
    action: {
      type: "startWorkflow",
      workflowType: renewalType,
      workflowId: scheduleIdOf(config),
      taskQueue: config.taskQueue,
      args: [{ ...(config.cluster === "" ? {} : { cluster: config.cluster }), ...givenDeadlines(config) }],
      // Of the action, as the Schedule's own memo cannot be written later.
      ...(self.uid === "" ? {} : { memo: { cluster: { ...self } } }),
      staticSummary: "Renew credentials that are due",
      staticDetails:
        "Renews what is due of pools at rest, and has the rollouts of all others do it; touches no machine.",
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: Math.max(every, 60_000) },
    memo: { purpose },
    state: { note: purpose },
  };
}
