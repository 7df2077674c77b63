/** The workers that poll the task queues of a cluster, and their versions. */
import { waitsQueueOf } from "../../workflows/commands/start_options.ts";
import type { Server } from "../connect/server.ts";
import { codeOf } from "../connect/temporal_failure.ts";
import { notFound } from "../setup/refusals.ts";
import { printable } from "../view/printable.ts";
import { type Service, timeOf } from "./wire.ts";

/**
 * Milliseconds after its last poll at which a worker counts as gone: a poll lasts a minute, and the next begins at
 * once.
 */
const pollMs = 90_000;

/** Numbers of temporal.api.enums.v1.TaskQueueType and WorkerVersioningMode. */
const [workflows, activities, versioned] = [1, 2, 2];

/** A build of the workers in Temporal; "" for workers without versioning. */
export interface Version {
  buildId: string;
  workers: number;
  /** Whether new runs go to this version. */
  isCurrent: boolean;
}

/** The workers of a task queue. */
export interface Polling {
  /** The number of workers that poll: the minimum over all queues. */
  workers: number;
  versions: Version[];
  /** Epoch ms of the last poll; missing after five minutes, when a server forgets the poller. */
  lastAt?: number;
  /** Queues that no worker polls although other queues are polled. */
  unpolled: string[];
  /** The current build, if no worker with that build polls. */
  idleCurrent?: string;
}

type Poller = NonNullable<Awaited<ReturnType<Service["describeTaskQueue"]>>["pollers"]>[number];

/** Reads the pollers of the queue for workflows and short activities, and of the queue for activities that wait. */
export async function readPolling(server: Server, taskQueue: string, now: number): Promise<Polling> {
  const waits = waitsQueueOf(taskQueue);
  const queues = [[taskQueue, workflows], [taskQueue, activities], [waits, activities]] as const;
  const found = await Promise.all(queues.map(([name, type]) => pollersOf(server, name, type)));
  const fresh = found.map((all) => all.filter((each) => isFresh(each, now)));
  const counts = fresh.map((all) => new Set(all.map(({ identity }) => identity)).size);
  const unpolled = queues.flatMap(([name], index) => counts[index] === 0 ? [name] : []);
  const lastAt = Math.max(0, ...found.flat().map((each) => timeOf(each.lastAccessTime) ?? 0));
  const currents = await Promise.all(deploymentsIn(found.flat()).map((name) => currentOf(server, name)));
  const current = currents.find((buildId) => buildId !== "");
  const versions = versionsOf(fresh[0] ?? [], current);
  const isIdle = current !== undefined && versions.length > 0 && !versions.some(({ isCurrent }) => isCurrent);
  return {
    workers: Math.min(...counts),
    versions,
    ...(lastAt > 0 ? { lastAt } : {}),
    unpolled: unpolled.length === queues.length ? [] : [...new Set(unpolled)],
    ...(isIdle ? { idleCurrent: current } : {}),
  };
}

async function pollersOf(
  { namespace, service: { workflowService } }: Server,
  name: string,
  taskQueueType: number,
): Promise<Poller[]> {
  const { pollers } = await workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType });
  return pollers ?? [];
}

function isFresh({ lastAccessTime }: Poller, now: number): boolean {
  return now - (timeOf(lastAccessTime) ?? 0) < pollMs;
}

function versionsOf(pollers: Poller[], current: string | undefined): Version[] {
  const builds = [...new Set(pollers.map(buildOf))].sort();
  return builds.map((buildId) => ({
    buildId,
    workers: new Set(pollers.filter((each) => buildOf(each) === buildId).map(({ identity }) => identity)).size,
    isCurrent: buildId === (current ?? ""),
  }));
}

function buildOf({ deploymentOptions }: Poller): string {
  const { workerVersioningMode, buildId } = deploymentOptions ?? {};
  return workerVersioningMode === versioned ? printable(buildId ?? "", 60) : "";
}

function deploymentsIn(pollers: Poller[]): string[] {
  const named = pollers.filter((each) => buildOf(each) !== "").map((each) => each.deploymentOptions?.deploymentName);
  return [...new Set(named)].filter((name) => typeof name === "string");
}

async function currentOf({ namespace, service }: Server, deploymentName: string): Promise<string> {
  try {
    const { workerDeploymentInfo } = await service.workflowService.describeWorkerDeployment({
      namespace,
      deploymentName,
    });
    return printable(workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? "", 60);
  } catch (error) {
    if (codeOf(error) === notFound) return "";
    throw error;
  }
}
