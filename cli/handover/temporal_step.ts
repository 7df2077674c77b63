/** Removes the Schedule that renews credentials, and terminates the runs of pools that are given back. */
import { renewalIdOf, workflowIdOf } from "../../workflows/commands/start_options.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Server } from "../connect/server.ts";
import { codeOf, temporalFailure } from "../connect/temporal_failure.ts";
import { Refusal } from "../failure.ts";
import { notFound } from "../setup/refusals.ts";
import type { Step } from "../setup/step.ts";

/** Milliseconds for all requests to Temporal together. */
const patienceMs = 120_000;

const schedule = (server: Server): string => `Schedule "${renewalIdOf(server.cluster)}"`;

/**
 * Removes the Schedule first, because it starts runs. Then terminates the open runs of the pools, because no worker
 * continues them. If the Schedule belongs to another cluster, changes nothing: throws Refusal, or in a dry run returns
 * one refused step.
 */
export async function releaseTemporal(
  server: Server,
  { pools, dryRun, uid }: { pools: PoolRef[]; dryRun: boolean; uid: string },
): Promise<Step[]> {
  return await server.within(patienceMs, async () => {
    try {
      const first = await removeSchedule(server, { dryRun, uid });
      return first.outcome === "Refused" ? [first] : [first, ...await endRuns(server, pools, dryRun)];
    } catch (error) {
      throw temporalFailure(server.address, error);
    }
  });
}

async function removeSchedule(
  server: Server,
  { dryRun, uid }: { dryRun: boolean; uid: string },
): Promise<Step> {
  const { namespace, cluster, service: { workflowService } } = server;
  const about = schedule(server);
  const scheduleId = renewalIdOf(cluster);
  try {
    const { schedule: found } = await workflowService.describeSchedule({ namespace, scheduleId });
    const memo = found?.action?.startWorkflow?.memo?.fields?.["cluster"]?.data;
    if (isOther(memo, uid)) {
      const message = "it belongs to another cluster; set this cluster's name with --cluster";
      if (!dryRun) throw new Refusal(`Failed to remove ${about}: ${message}; nothing was changed`);
      return { about, outcome: "Refused", message };
    }
    if (dryRun) return { about, outcome: "Wanted", message: "would be removed" };
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
      const reason = "its pool is given back to Operating System Manager";
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
