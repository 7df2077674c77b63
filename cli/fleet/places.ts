/** The places of clusters in one namespace of Temporal: each has a Schedule, which says whose it is. */
import { renewalIdOf, renewalType, taskQueueOf } from "../../workflows/commands/start_options.ts";
import { isClusterName } from "../connect/cluster_name.ts";
import type { Server } from "../connect/server.ts";
import { printable } from "./bounded_work.ts";
import { pagesOf, type Service, timeOf, valueOf } from "./wire.ts";

/** More Schedules than a namespace can have clusters. */
const mostSchedules = 20_000;

/** What is known of a Schedule that renews credentials; times are epoch ms. */
export interface Renewals {
  scheduleId: string;
  isPaused: boolean;
  /** When the run that is open now began; a long time ago is one that nobody takes up. */
  openSince?: number;
  /** The end of the last run that went through. */
  lastAt?: number;
  /** The last run that ended did not go through. */
  hasFailed: boolean;
  /** When it begins a run next; missing where it never will. */
  nextAt?: number;
}

/** A place, and who has it. */
export interface Place {
  /** The cluster's name; "" for none. */
  cluster: string;
  /** Temporal's namespace. */
  namespace: string;
  /** UID of its namespace kube-system; "" where that is not proven. */
  uid: string;
  taskQueue: string;
  /** Missing where open runs alone tell of the cluster. */
  renewals?: Renewals;
}

/** The clusters that have a Schedule, by name. */
export async function listNames({ namespace, service: { workflowService } }: Server): Promise<string[]> {
  const ids = await pagesOf(mostSchedules, async (page) => {
    const answer = await workflowService.listSchedules({ namespace, maximumPageSize: 1000, ...page });
    const ours = (answer.schedules ?? []).filter(({ info }) => info?.workflowType?.name === renewalType);
    return { items: ours.map(({ scheduleId }) => scheduleId ?? ""), nextPageToken: answer.nextPageToken ?? null };
  });
  return ids.map(clusterOfSchedule).filter((name) => name !== undefined);
}

// Of somebody else's making where it does not read so.
function clusterOfSchedule(scheduleId: string): string | undefined {
  if (scheduleId === renewalIdOf("")) return "";
  const [name = ""] = scheduleId.split("/");
  return isClusterName(name) && scheduleId === renewalIdOf(name) ? name : undefined;
}

/** Reads the place of one cluster; one without a Schedule has the queue that it would have by itself. */
export async function readPlace(server: Server, cluster: string): Promise<Place> {
  const { namespace, service: { workflowService } } = server;
  const scheduleId = renewalIdOf(cluster);
  const described = await workflowService.describeSchedule({ namespace, scheduleId });
  const action = described.schedule?.action?.startWorkflow;
  return {
    cluster,
    namespace,
    uid: uidOf(valueOf(action?.memo?.fields?.["cluster"])),
    taskQueue: printable(action?.taskQueue?.name ?? "") || taskQueueOf(cluster),
    renewals: renewalsOf(scheduleId, described, await lastRenewal(server, scheduleId)),
  };
}

function uidOf(owner: unknown): string {
  const { uid } = (owner ?? {}) as { uid?: unknown };
  return typeof uid === "string" && /^[\w-]{1,64}$/.test(uid) ? uid : "";
}

type Described = Awaited<ReturnType<Service["describeSchedule"]>>;

/** Temporal's numbers of runs that ended badly: Failed, Canceled, Terminated, TimedOut. */
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

// The newest of those that ended comes first.
async function lastRenewal({ namespace, service }: Server, scheduleId: string): Promise<number | undefined> {
  const query = `TemporalScheduledById = "${scheduleId}" AND ExecutionStatus = "Completed"`;
  const { executions } = await service.workflowService.listWorkflowExecutions({ namespace, query, pageSize: 1 });
  return timeOf(executions?.[0]?.closeTime);
}

/** Where a cluster without a Schedule would be. */
export function placeless({ namespace }: Server, cluster: string): Place {
  return { cluster, namespace, uid: "", taskQueue: taskQueueOf(cluster) };
}
