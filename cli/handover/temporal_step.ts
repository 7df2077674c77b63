/** Removes the Schedules of a cluster, and terminates the runs of its pools. */
import { discoveryIdOf, renewalIdOf, workflowIdOf } from "../../workflows/commands/start_options.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Server } from "../connect/server.ts";
import { codeOf, temporalFailure } from "../connect/temporal_failure.ts";
import { Refusal } from "../failure.ts";
import { notFound } from "../setup/refusals.ts";
import type { Step } from "../setup/step.ts";

/** Milliseconds for all requests to Temporal together. */
const patienceMs = 120_000;

const scheduleText = (scheduleId: string): string => `Schedule "${scheduleId}"`;

/**
 * Removes the Schedules first, because they start runs. Then terminates the open runs of the pools, because no worker
 * continues them. If the Schedule that renews credentials belongs to another cluster, changes nothing: throws Refusal,
 * or in a dry run returns one refused step.
 */
export async function releaseTemporal(
  server: Server,
  { pools, dryRun, uid }: { pools: PoolRef[]; dryRun: boolean; uid: string },
): Promise<Step[]> {
  return await server.within(patienceMs, async () => {
    try {
      const steps = await removeSchedules(server, { dryRun, uid });
      const isRefused = steps.some(({ outcome }) => outcome === "Refused");
      return isRefused ? steps : [...steps, ...await endRuns(server, pools, dryRun)];
    } catch (error) {
      throw temporalFailure(server.address, error);
    }
  });
}

// Only the Schedule that renews credentials records the UID of its cluster. So this Schedule is removed last: after an
// interruption it still shows that the Schedule that discovers scaling groups, whose ID begins with the same cluster
// name, belongs to this cluster too.
async function removeSchedules(
  server: Server,
  { dryRun, uid }: { dryRun: boolean; uid: string },
): Promise<Step[]> {
  const [renewalId, discoveryId] = [renewalIdOf(server.cluster), discoveryIdOf(server.cluster)];
  const about = scheduleText(renewalId);
  const renewal = await readSchedule(server, renewalId);
  if (renewal === undefined) return [{ about, outcome: "Present", message: "not found" }];
  const memo = renewal.action?.startWorkflow?.memo?.fields?.["cluster"]?.data;
  if (isOther(memo, uid)) {
    const message = "it belongs to another cluster; set this cluster's name with --cluster";
    if (!dryRun) throw new Refusal(`Failed to remove ${about}: ${message}; nothing was changed`);
    return [{ about, outcome: "Refused", message }];
  }
  const discovery = await readSchedule(server, discoveryId);
  return [
    ...(discovery === undefined ? [] : [await removeSchedule(server, discoveryId, dryRun)]),
    await removeSchedule(server, renewalId, dryRun),
  ];
}

type Schedule = Awaited<ReturnType<Server["service"]["workflowService"]["describeSchedule"]>>["schedule"];

/** Returns a Schedule; undefined if it does not exist. */
async function readSchedule(
  { namespace, service: { workflowService } }: Server,
  scheduleId: string,
): Promise<NonNullable<Schedule> | undefined> {
  try {
    return (await workflowService.describeSchedule({ namespace, scheduleId })).schedule ?? {};
  } catch (error) {
    if (codeOf(error) === notFound) return undefined;
    throw error;
  }
}

async function removeSchedule(
  { namespace, service: { workflowService } }: Server,
  scheduleId: string,
  dryRun: boolean,
): Promise<Step> {
  const about = scheduleText(scheduleId);
  if (dryRun) return { about, outcome: "Wanted", message: "would be removed" };
  try {
    await workflowService.deleteSchedule({ namespace, scheduleId });
    return { about, outcome: "Removed", message: "removed" };
  } catch (error) {
    if (codeOf(error) === notFound) return { about, outcome: "Present", message: "not found" };
    throw error;
  }
}

// A Schedule without a memo does not show its cluster, so it counts as the Schedule of this cluster.
function isOther(memo: Uint8Array | null | undefined, uid: string): boolean {
  if (!memo || memo.length === 0) return false;
  const owner = JSON.parse(new TextDecoder().decode(memo)) as { uid?: string };
  return owner.uid !== undefined && owner.uid !== "" && owner.uid !== uid;
}

async function endRuns(server: Server, pools: PoolRef[], dryRun: boolean): Promise<Step[]> {
  const { namespace, service: { workflowService } } = server;
  const steps: Step[] = [];
  const ids = new Set(pools.map((pool) => workflowIdOf(pool)));
  for (const workflowId of (await openRuns(server)).filter((id) => ids.has(id))) {
    const about = `workflow "${workflowId}"`;
    if (!dryRun) {
      const workflowExecution = { workflowId };
      const reason = "its cluster is given back to Operating System Manager";
      await workflowService.terminateWorkflowExecution({ namespace, workflowExecution, reason });
    }
    const outcome = dryRun ? "Wanted" : "Removed";
    steps.push({ about, outcome, message: dryRun ? "would be terminated" : "terminated" });
  }
  return steps;
}

async function openRuns({ namespace, service: { workflowService } }: Server): Promise<string[]> {
  const found: string[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const query = `ExecutionStatus = "Running"`;
    const page = await workflowService.listWorkflowExecutions({
      ...{ namespace, query, pageSize: 1000 },
      ...(nextPageToken ? { nextPageToken } : {}),
    });
    found.push(...(page.executions ?? []).map(({ execution }) => execution?.workflowId ?? ""));
    nextPageToken = page.nextPageToken?.length ? page.nextPageToken : undefined;
  } while (nextPageToken);
  return found;
}
