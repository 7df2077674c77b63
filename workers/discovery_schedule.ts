/** The Schedule that has scaling groups looked for in the cloud; there is one only where a cloud is set. */
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from "@temporalio/client";
import type { Client, ScheduleOptions } from "@temporalio/client";
import { setTimeout } from "node:timers/promises";
import { discoveryIdOf } from "../workflows/commands/start_options.ts";
import type { Config } from "./config.ts";
import type { ScheduleDeps } from "./credential_schedule.ts";

/** As often as the Constellation node operator looks. */
const everyMs = 900_000;
/** Milliseconds until the Schedule is looked for again: when it stands, and when not. */
const pauses = { standing: 600_000, failed: 5_000 };

/** Keeps the Schedule there until `signal` aborts; never fails. */
export async function keepDiscoverySchedule(
  config: Config,
  { connect, log, signal }: Omit<ScheduleDeps, "self" | "pauses">,
): Promise<void> {
  while (config.cloud !== "" && !signal.aborted) {
    const stands = await ensureSchedule(connect, config).then(() => true, (error: unknown) => {
      log.warn("Failed to set up the discovery of scaling groups; retrying", { error });
      return false;
    });
    // Aborting ends the rest early; nothing else can be thrown.
    await setTimeout(stands ? pauses.standing : pauses.failed, undefined, { signal }).catch(() => undefined);
  }
}

/** Creates it, and has it triggered once; one that is there is brought to what we want, and paused it stays paused. */
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
  const purpose = "Looks for scaling groups of this cluster in its cloud. While it is paused, new ones are not found.";
  return {
    scheduleId,
    spec: { intervals: [{ every: everyMs }] },
    action: {
      type: "startWorkflow",
      workflowType: "discoverScalingGroups",
      workflowId: scheduleId,
      taskQueue,
      args: [cluster === "" ? {} : { cluster }],
      staticSummary: "Look for scaling groups",
      staticDetails:
        "Makes a ScalingGroup for each group of the cloud, and removes those that are gone for three looks.",
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: everyMs },
    memo: { purpose },
    state: { note: purpose, triggerImmediately: true },
  };
}
