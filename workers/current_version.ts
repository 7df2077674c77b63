/**
 * Keeps the build of this controller the current version of the Worker Deployment, so that an update needs only a new
 * image, and a downgrade only the previous image.
 */
import type { Client } from "@temporalio/client";
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { taskQueueOf, waitsQueueOf } from "../workflows/commands/start_options.ts";
import type { Config } from "./config.ts";

type VersionConfig = Pick<Config, "buildId" | "deployment" | "cluster" | "taskQueue" | "temporal">;

/** Returns the name of the Worker Deployment. */
export function deploymentNameOf({ deployment, cluster }: Pick<Config, "deployment" | "cluster">): string {
  return deployment || taskQueueOf(cluster);
}

/**
 * Outcome of a check. NoWorkers: workers of this version do not poll, and workflows would stop if it became current.
 * Superseded: another controller made its version current since this process started, and that version has workers.
 */
type VersionOutcome = "Current" | "MadeCurrent" | "NoWorkers" | "Superseded";

/** Milliseconds until the next check. */
const pauses = { current: 60_000, waiting: 5_000 };

interface VersionDeps {
  connect: () => Promise<Client>;
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  /** When this process started (epoch ms). */
  startedAt?: number;
  pauses?: { current: number; waiting: number };
}

/**
 * Keeps the version current until `signal` aborts, and retries while Temporal is unreachable; does nothing without a
 * build id.
 */
export async function keepVersionCurrent(config: VersionConfig, deps: VersionDeps): Promise<void> {
  const { connect, log, signal } = deps;
  const { current, waiting } = deps.pauses ?? pauses;
  const version = { deployment: deploymentNameOf(config), buildId: config.buildId };
  let known: VersionOutcome | undefined;
  // A version that became current after the start of this process is an update, which a leader of an older version must
  // not undo. Once the version of this process was current, it keeps that version current.
  let since: number | undefined = deps.startedAt ?? performance.timeOrigin;
  while (config.buildId !== "" && !signal.aborted) {
    try {
      const outcome = await ensureVersionCurrent(await connect(), config, since);
      if (outcome === "Current" || outcome === "MadeCurrent") since = undefined;
      if (outcome === "Superseded" && outcome !== known) {
        log.warn("Keeping the current version: another controller set it since this process started", version);
      }
      if (outcome === "NoWorkers" && outcome !== known) {
        log.warn("Keeping the current version: workers of this controller's version do not poll yet", version);
      }
      if (outcome === "MadeCurrent") log.info("Made this version the current one", version);
      known = outcome;
    } catch (error) {
      known = undefined;
      log.warn("Failed to make this version the current one; retrying", { ...version, error });
    }
    const pause = known === "Current" || known === "MadeCurrent" ? current : waiting;
    // The promise rejects only when the signal aborts, which ends the pause early.
    await setTimeout(pause, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Makes the version the current one as soon as workers with that version poll every queue. Keeps another version if it
 * became current after `since` (epoch ms) and its workers still poll.
 */
export async function ensureVersionCurrent(
  client: Client,
  config: VersionConfig,
  since = Infinity,
): Promise<VersionOutcome> {
  const { buildId, temporal: { namespace } } = config;
  if (!await isPolled(client, config)) return "NoWorkers";
  const deploymentName = deploymentNameOf(config);
  const { workerDeploymentInfo, conflictToken } = await client.workflowService.describeWorkerDeployment({
    namespace,
    deploymentName,
  });
  const { currentDeploymentVersion: current, currentVersionChangedTime: changed } =
    workerDeploymentInfo?.routingConfig ?? {};
  if (current?.buildId === buildId) return "Current";
  const isLater = Number(changed?.seconds ?? 0) * 1000 > since;
  if (isLater && current?.buildId && await isPolled(client, { ...config, buildId: current.buildId })) {
    return "Superseded";
  }
  await client.workflowService.setWorkerDeploymentCurrentVersion({
    namespace,
    deploymentName,
    buildId,
    identity: client.options.identity,
    ...(conflictToken ? { conflictToken } : {}),
  });
  return "MadeCurrent";
}

/** Numbers of temporal.api.enums.v1.TaskQueueType. */
const queueTypes = { workflow: 1, activity: 2 };

// The server would also accept a version whose workers are gone, so its pollers are checked; the server forgets pollers
// some minutes after their last poll.
async function isPolled(client: Client, { buildId, taskQueue, temporal }: VersionConfig): Promise<boolean> {
  const polls = [
    { name: taskQueue, type: queueTypes.workflow },
    { name: taskQueue, type: queueTypes.activity },
    { name: waitsQueueOf(taskQueue), type: queueTypes.activity },
  ];
  const answers = await Promise.all(polls.map(({ name, type }) =>
    client.workflowService.describeTaskQueue({
      namespace: temporal.namespace,
      taskQueue: { name },
      taskQueueType: type,
    })
  ));
  return answers.every(({ pollers }) =>
    pollers?.some(({ deploymentOptions }) => deploymentOptions?.buildId === buildId)
  );
}

/** Age (ms) up to which a poll shows a running worker, which polls every minute; Temporal lists polls for 5 minutes. */
const askedLately = 90_000;

/** Returns whether a worker of any version asks Temporal for workflow tasks of the queue. */
export async function isServed(
  client: Client,
  { temporal: { namespace } }: Pick<Config, "temporal">,
  name: string,
): Promise<boolean> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name },
    taskQueueType: queueTypes.workflow,
  });
  return (pollers ?? []).some(({ lastAccessTime }) =>
    Date.now() - 1000 * Number(lastAccessTime?.seconds ?? 0) < askedLately
  );
}
