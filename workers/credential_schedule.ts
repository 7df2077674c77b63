/** The Schedule that has credentials renewed: one for the installation, in the web UI under Schedules. */
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from "@temporalio/client";
import type { Client, ScheduleOptions } from "@temporalio/client";
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { lookEveryMs } from "../activities/config/renewal.ts";
import type { Config } from "./config.ts";
import { givenDeadlines } from "./start_rollout.ts";

/** Id of the Schedule, and of its runs, to which Temporal adds the time. */
export const scheduleId = "renew-credentials";

/** Milliseconds until the Schedule is looked for again: when it stands, as somebody may delete it, and when not. */
const pauses = { standing: 600_000, failed: 5_000 };

export interface ScheduleDeps {
  connect: () => Promise<Client>;
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  pauses?: { standing: number; failed: number };
}

/** Keeps the Schedule there until `signal` aborts, also where Temporal comes and goes; never fails. */
export async function keepCredentialSchedule(config: Config, deps: ScheduleDeps): Promise<void> {
  const { connect, log, signal } = deps;
  const { standing, failed } = deps.pauses ?? pauses;
  let isCurrent = false;
  while (!signal.aborted) {
    try {
      await ensureCredentialSchedule(await connect(), config, isCurrent);
      if (!isCurrent) log.info("Schedule stands", { scheduleId });
      isCurrent = true;
    } catch (error) {
      isCurrent = false;
      log.warn("Cannot set up the renewal of credentials: it is tried again", { error });
    }
    // Aborting ends the rest early; nothing else can be thrown.
    await setTimeout(isCurrent ? standing : failed, undefined, { signal }).catch(() => undefined);
  }
}

/** Creates the Schedule, or brings it to what the settings say now unless that is known; paused it stays paused. */
export async function ensureCredentialSchedule(client: Client, config: Config, isCurrent = false): Promise<void> {
  const wanted = credentialSchedule(config);
  try {
    await client.schedule.create(wanted);
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    if (isCurrent) return;
    const { scheduleId: _, memo: __, ...update } = wanted;
    const handle = client.schedule.getHandle(scheduleId);
    await handle.update(({ state }) => ({ ...update, state: state.paused ? state : wanted.state ?? {} }));
  }
}

function credentialSchedule(config: Config): ScheduleOptions {
  const every = lookEveryMs(config.credentialSeconds);
  const purpose = "Renews the credentials that new machines boot with, at a third of their life. While it is paused, " +
    "machines may be made that cannot join.";
  return {
    scheduleId,
    spec: { intervals: [{ every }] },
    action: {
      type: "startWorkflow",
      workflowType: "renewCredentials",
      workflowId: scheduleId,
      taskQueue: config.taskQueue,
      args: [givenDeadlines(config)],
      staticSummary: "Renew credentials that are due",
      staticDetails: "Starts or tells the rollout of each pool whose credentials are due; touches no machine.",
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: Math.max(every, 60_000) },
    memo: { purpose },
    state: { note: purpose },
  };
}
