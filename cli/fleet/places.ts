/** The clusters in one namespace of Temporal: each has a Schedule, whose memo identifies the cluster. */
import { renewalIdOf, renewalType, taskQueueOf } from "../../workflows/commands/start_options.ts";
import { isClusterName } from "../connect/cluster_name.ts";
import { recordedIn } from "../connect/home.ts";
import type { Server } from "../connect/server.ts";
import { printable } from "../view/printable.ts";
import { pagesOf, type Service, timeOf } from "./wire.ts";

/** Maximum Schedules that are read. */
const mostSchedules = 20_000;

/** The facts about a Schedule that renews credentials; times are epoch ms. */
export interface Renewals {
  scheduleId: string;
  isPaused: boolean;
  /** Start of the open run; if that is long ago, probably no worker executes the run. */
  openSince?: number;
  /** End of the last successful run. */
  lastAt?: number;
  /** Whether the last completed run failed. */
  hasFailed: boolean;
  /** Start of the next run; missing if none is planned. */
  nextAt?: number;
}

/** The namespace, task queue and Schedule of a cluster in Temporal, with the UID that identifies the cluster. */
export interface Place {
  /** The cluster's name; "" without a name. */
  cluster: string;
  /** Temporal's namespace. */
  namespace: string;
  /** UID of the cluster's namespace kube-system; "" if its controller could not read that namespace. */
  uid: string;
  taskQueue: string;
  /** Missing if the cluster has open runs, but no Schedule. */
  renewals?: Renewals;
}

/** Lists the names of clusters that have a Schedule. */
export async function listNames({ namespace, service: { workflowService } }: Server): Promise<string[]> {
  const ids = await pagesOf(mostSchedules, async (page) => {
    const answer = await workflowService.listSchedules({ namespace, maximumPageSize: 1000, ...page });
    const ours = (answer.schedules ?? []).filter(({ info }) => info?.workflowType?.name === renewalType);
    return { items: ours.map(({ scheduleId }) => scheduleId ?? ""), nextPageToken: answer.nextPageToken ?? null };
  });
  return ids.map(clusterOfSchedule).filter((name) => name !== undefined);
}

// Returns the name of the cluster in the id of a Schedule; undefined for an id that Ostler does not use.
function clusterOfSchedule(scheduleId: string): string | undefined {
  if (scheduleId === renewalIdOf("")) return "";
  const [name = ""] = scheduleId.split("/");
  return isClusterName(name) && scheduleId === renewalIdOf(name) ? name : undefined;
}

/**
 * Reads a cluster's Schedule, and from it task queue and UID; without a task queue in the Schedule, returns the default
 * queue.
 */
export async function readPlace(server: Server, cluster: string): Promise<Place> {
  const { namespace, service: { workflowService } } = server;
  const scheduleId = renewalIdOf(cluster);
  const described = await workflowService.describeSchedule({ namespace, scheduleId });
  const { uid, taskQueue } = recordedIn(described);
  return {
    cluster,
    namespace,
    uid,
    taskQueue: printable(taskQueue) || taskQueueOf(cluster),
    renewals: renewalsOf(scheduleId, described, await lastRenewal(server, scheduleId)),
  };
}

type Described = Awaited<ReturnType<Service["describeSchedule"]>>;

/** Temporal's status numbers of unsuccessful runs: Failed, Canceled, Terminated, TimedOut. */
const badly = [3, 4, 5, 7];

function renewalsOf(scheduleId: string, { schedule, info }: Described, lastAt: number | undefined): Renewals {
  const isRunning = (info?.runningWorkflows ?? []).length > 0;
  const last = info?.recentActions?.at(-1);
  const openSince = isRunning ? timeOf(last?.actualTime) : undefined;
  const nextAt = timeOf(info?.futureActionTimes?.[0]);
  return {
    scheduleId,
    isPaused: schedule?.state?.paused === true,
    hasFailed: !isRunning && badly.includes(last?.startWorkflowStatus ?? 0),
    ...(openSince === undefined ? {} : { openSince }),
    ...(lastAt === undefined ? {} : { lastAt }),
    ...(nextAt === undefined ? {} : { nextAt }),
  };
}

// Temporal lists the newest completed run first.
async function lastRenewal({ namespace, service }: Server, scheduleId: string): Promise<number | undefined> {
  const query = `TemporalScheduledById = "${scheduleId}" AND ExecutionStatus = "Completed"`;
  const { executions } = await service.workflowService.listWorkflowExecutions({ namespace, query, pageSize: 1 });
  return timeOf(executions?.[0]?.closeTime);
}

/** Returns the namespace and the default task queue of a cluster that has no Schedule. */
export function placeless({ namespace }: Server, cluster: string): Place {
  return { cluster, namespace, uid: "", taskQueue: taskQueueOf(cluster) };
}
