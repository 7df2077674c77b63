/**
 * Versions of Ostler's worker on the Temporal server of a test: replaces workers by workers of another version, as a
 * deployment of Ostler does, and reads which versions the server knows.
 */
import type { WorkflowHandle } from "@temporalio/client";
import { setTimeout } from "node:timers/promises";
import { NotYet } from "../../deploy/local/process/wait_until.ts";
import { eventually } from "./eventually.ts";
import type { Stage, StageVersion } from "./workflow_stage.ts";

const deploymentName = "ostler";
const namespace = "default";

/** temporal.api.enums.v1.VersionDrainageStatus */
const drained = 2;

/**
 * Replaces all workers by workers of this version, and makes it the current version, as a deployment of Ostler does.
 */
export async function deploy(
  stage: Stage,
  version: StageVersion & { buildId: string },
  withinMs?: number,
): Promise<void> {
  await stage.changeWorker(version, () => makeCurrent(stage, version.buildId, { ...(withinMs ? { withinMs } : {}) }));
}

/**
 * Makes a version the current version once its workers poll. With `allowNoPollers` it does so immediately, for a
 * version that never has workers.
 */
export async function makeCurrent(
  stage: Stage,
  buildId: string,
  { allowNoPollers = false, withinMs }: { allowNoPollers?: boolean; withinMs?: number } = {},
): Promise<void> {
  const order = {
    namespace,
    deploymentName,
    buildId,
    identity: "tester",
    allowNoPollers,
    ignoreMissingTaskQueues: allowNoPollers,
  };
  const tried = (): Promise<true> =>
    stage.client.workflowService.setWorkerDeploymentCurrentVersion(order).then(() => true, (error: unknown) => {
      throw new NotYet(String(error));
    });
  await eventually(`version ${buildId} current`, tried, withinMs === undefined ? {} : { withinMs });
}

/** Build IDs: `kept` of all versions that the server stores, `open` of those among them that have not drained. */
export interface KnownVersions {
  kept: string[];
  open: string[];
}

/**
 * Waits one second, and reads the versions. Returns undefined if that fails because the server is too busy: it runs a
 * workflow of its own for each version.
 */
export async function knownVersions(stage: Stage): Promise<KnownVersions | undefined> {
  await setTimeout(1_000);
  return await readVersions(stage).catch(() => undefined);
}

async function readVersions(stage: Stage): Promise<KnownVersions> {
  const { workerDeploymentInfo } = await stage.client.workflowService.describeWorkerDeployment({
    namespace,
    deploymentName,
  });
  const found = workerDeploymentInfo?.versionSummaries ?? [];
  const buildOf = (version: typeof found[number]): string => version.deploymentVersion?.buildId ?? "";
  const doubtful = found.filter(({ drainageStatus }) => drainageStatus !== drained).map(buildOf);
  const open = await Promise.all(doubtful.map(async (build) => await isDrained(stage, build) ? [] : [build]));
  return { kept: found.map(buildOf), open: open.flat() };
}

// Reads the version itself, because the list can show a version as not drained for a while after it has drained (server
// 1.29.1).
async function isDrained(stage: Stage, buildId: string): Promise<boolean> {
  const { workerDeploymentVersionInfo } = await stage.client.workflowService.describeWorkerDeploymentVersion({
    namespace,
    deploymentVersion: { deploymentName, buildId },
  });
  return workerDeploymentVersionInfo?.drainageInfo?.status === drained;
}

/**
 * Returns the build ID of the current version; undefined if no version is current or the read fails. The read fails
 * until a worker of the deployment has polled for the first time.
 */
export async function currentBuild(stage: Stage): Promise<string | undefined> {
  const asked = stage.client.workflowService.describeWorkerDeployment({ namespace, deploymentName });
  const answer = await asked.catch(() => undefined);
  return answer?.workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? undefined;
}

/** Deletes a version; throws while it has not drained, or while the server still remembers polls of its workers. */
export async function deleteVersion(stage: Stage, buildId: string): Promise<void> {
  const deploymentVersion = { deploymentName, buildId };
  await stage.client.workflowService.deleteWorkerDeploymentVersion({
    namespace,
    deploymentVersion,
    identity: "tester",
  });
}

export interface Ran {
  failures: number;
  builds: string[];
}

/**
 * Returns from the history of a run the build IDs of the workers that executed its workflow tasks, in order, and the
 * number of failed workflow tasks.
 */
export async function ran(handle: Pick<WorkflowHandle, "fetchHistory">): Promise<Ran> {
  const { events } = await handle.fetchHistory();
  const builds = (events ?? []).flatMap(({ workflowTaskCompletedEventAttributes: done }) =>
    done?.deploymentVersion?.buildId ?? []
  );
  const failures = (events ?? []).filter(({ workflowTaskFailedEventAttributes: failed }) => failed);
  return { failures: failures.length, builds: builds.filter((build, at) => build !== builds[at - 1]) };
}
