/**
 * The version of the workers that is the current one of their deployment: that of the controller's own build. So a new
 * image is all that an update asks for, and the image of before all that the way back does.
 */
import type { Client } from "@temporalio/client";
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { taskQueueOf, waitsQueueOf } from "../workflows/commands/start_options.ts";
import type { Config } from "./config.ts";

type VersionConfig = Pick<Config, "buildId" | "deployment" | "cluster" | "taskQueue" | "temporal">;

/** The worker deployment that a build id is of. */
export function deploymentNameOf({ deployment, cluster }: Pick<Config, "deployment" | "cluster">): string {
  return deployment || taskQueueOf(cluster);
}

/** What was found, or done; without workers of the version nothing is done, as then nobody would take up any run. */
export type VersionOutcome = "Current" | "MadeCurrent" | "NoWorkers";

/** Milliseconds until it is looked again. */
const pauses = { current: 60_000, waiting: 5_000 };

export interface VersionDeps {
  connect: () => Promise<Client>;
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  pauses?: { current: number; waiting: number };
}

/** Keeps the version current until `signal` aborts, also where Temporal comes and goes; does nothing without a build id. */
export async function keepVersionCurrent(config: VersionConfig, deps: VersionDeps): Promise<void> {
  const { connect, log, signal } = deps;
  const { current, waiting } = deps.pauses ?? pauses;
  const version = { deployment: deploymentNameOf(config), buildId: config.buildId };
  let known: VersionOutcome | undefined;
  while (config.buildId !== "" && !signal.aborted) {
    try {
      const outcome = await ensureVersionCurrent(await connect(), config);
      if (outcome === "NoWorkers" && outcome !== known) {
        log.warn("Keeping the current version: no workers of this version poll", version);
      }
      if (outcome === "MadeCurrent") log.info("Made this version the current one", version);
      known = outcome;
    } catch (error) {
      known = undefined;
      log.warn("Failed to make this version the current one; retrying", { ...version, error });
    }
    const pause = known === "Current" || known === "MadeCurrent" ? current : waiting;
    // Aborting ends the rest early; nothing else can be thrown.
    await setTimeout(pause, undefined, { signal }).catch(() => undefined);
  }
}

/** Makes the version the current one once workers of it poll every queue. */
export async function ensureVersionCurrent(client: Client, config: VersionConfig): Promise<VersionOutcome> {
  const { buildId, temporal: { namespace } } = config;
  if (!await isPolled(client, config)) return "NoWorkers";
  const deploymentName = deploymentNameOf(config);
  const { workerDeploymentInfo, conflictToken } = await client.workflowService.describeWorkerDeployment({
    namespace,
    deploymentName,
  });
  if (workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId === buildId) return "Current";
  await client.workflowService.setWorkerDeploymentCurrentVersion({
    namespace,
    deploymentName,
    buildId,
    identity: client.options.identity,
    ...(conflictToken ? { conflictToken } : {}),
  });
  return "MadeCurrent";
}

/** temporal.api.enums.v1.TaskQueueType */
const queueTypes = { workflow: 1, activity: 2 };

// A server would make a version current that had workers once; they are forgotten some minutes after their last poll.
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
