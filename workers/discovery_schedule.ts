/** The Schedule that discovers scaling groups in the cloud; only with a configured cloud. */
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from "@temporalio/client";
import type { Client, ScheduleOptions } from "@temporalio/client";
import { setTimeout } from "node:timers/promises";
import { discoveryIdOf } from "../workflows/commands/start_options.ts";
import type { Config } from "./config.ts";
import { runTimeoutOf, type ScheduleDeps } from "./credential_schedule.ts";

/** Milliseconds between discoveries, as in the Constellation node operator. */
const everyMs = 900_000;
/** Milliseconds until the next check: after a success, and after a failure. */
const pauses = { standing: 600_000, failed: 5_000 };

/** Keeps the Schedule until `signal` aborts; never throws. */
export async function keepDiscoverySchedule(
  config: Config,
  { connect, log, signal }: Omit<ScheduleDeps, "self" | "pauses">,
): Promise<void> {
  while (config.cloud !== "" && !signal.aborted) {
    const stands = await ensureSchedule(connect, config).then(() => true, (error: unknown) => {
      log.warn("Failed to set up the discovery of scaling groups; retrying", { error });
      return false;
    });
    // The promise rejects only when the signal aborts, which ends the pause early.
    await setTimeout(stands ? pauses.standing : pauses.failed, undefined, { signal }).catch(() => undefined);
  }
}

/** Creates the Schedule and triggers it once, or updates an existing one; a paused Schedule stays paused. */
async function ensureSchedule(connect: () => Promise<Client>, config: Config): Promise<void> {
  const client = await connect();
  const wanted = scheduleFor(config);
  try {
    await client.schedule.create(wanted);
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const { scheduleId, state = {}, ...update } = wanted;
    await client.schedule.getHandle(scheduleId).update((now) => ({
      ...update,
      state: now.state.paused ? now.state : { note: state.note ?? "" },
    }));
  }
}

function scheduleFor({ cluster, taskQueue }: Config): ScheduleOptions {
  const scheduleId = discoveryIdOf(cluster);
  const purpose =
    "Discovers scaling groups of this cluster in its cloud. While the Schedule is paused, new groups are not found.";
  return {
    scheduleId,
    spec: { intervals: [{ every: everyMs }] },
    action: {
      type: "startWorkflow",
      workflowType: "discoverScalingGroups",
      workflowId: scheduleId,
      taskQueue,
      workflowExecutionTimeout: runTimeoutOf(everyMs),
      args: [cluster === "" ? {} : { cluster }],
      staticSummary: "Discover scaling groups",
      staticDetails:
        "Creates a ScalingGroup for each group in the cloud, and deletes ScalingGroups whose group was missing three times.",
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: everyMs },
    memo: { purpose },
    state: { note: purpose, triggerImmediately: true },
  };
}
