/** Signals the one workflow of a pool that something changed, and starts it if it does not run. */
import type { Client } from "@temporalio/client";
import { TypedSearchAttributes, WorkflowNotFoundError } from "@temporalio/common";
import { poolOf, shownAtStart, workflowIdOf, workflowTypeOf } from "../workflows/commands/start_options.ts";
import type { PoolRef } from "../workflows/contracts/mod.ts";
import { ownerOfSchedule } from "./claim.ts";
import { type ClusterIdentity, clusterText } from "./cluster_identity.ts";
import { type Config, givenDeadlines } from "./config.ts";
import { scheduleIdOf } from "./credential_schedule.ts";
import { isServed } from "./current_version.ts";
import type { PoolNews, ReportedRun } from "./pool_notifier.ts";

/** The connection of a process, and the cluster that it serves. */
export interface Starting {
  client: Client;
  config: Config;
  self: ClusterIdentity;
}

/**
 * Starts or signals the run of a pool, and returns the run. Safe to call any number of times, because each pool has one
 * workflow ID and the signal only requests another read. After a cancellation that could not be reported, a repeated
 * signal starts a run that only publishes the config and completes the cancellation. Throws while a worker still serves
 * the pool's run under the previous name of this cluster.
 */
export async function startRollout(
  { client, config, self }: Starting,
  { pool: seen, generation, run, observed, isRepeat }: PoolNews,
): Promise<ReportedRun> {
  const pool = config.cluster === "" ? poolOf(seen) : { cluster: config.cluster, ...poolOf(seen) };
  if (run) await endUnderPreviousName({ client, config, self }, pool, run);
  const { typedSearchAttributes, ...shown } = shownAtStart(pool);
  const workflowId = workflowIdOf(pool);
  const only = isRepeat && await wasCancelled(client, workflowId) ? { publishOnly: true } : {};
  const { signaledRunId } = await client.workflow.signalWithStart(workflowTypeOf(pool), {
    workflowId,
    taskQueue: config.taskQueue,
    args: [{ ...pool, ...givenDeadlines(config), ...only }],
    signal: "desiredChanged",
    signalArgs: [{ generation, ...(observed === undefined ? {} : { observed }) }],
    ...shown,
    typedSearchAttributes: new TypedSearchAttributes(typedSearchAttributes),
  });
  return { workflowId, runId: signaledRunId };
}

/** Returns whether the last run was cancelled; false once Temporal has deleted that run after its retention. */
async function wasCancelled(client: Client, workflowId: string): Promise<boolean> {
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
    return status.name === "CANCELLED";
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/**
 * Ends the run of a pool under the previous name of its cluster, so that no two runs roll out one pool. Does nothing
 * unless the run certainly belongs to this cluster, because the Rollout may be from a copied cluster. Throws while
 * workers serve the run's task queue, unless that is the queue of this process.
 */
async function endUnderPreviousName(
  { client, config, self }: Starting,
  pool: PoolRef,
  run: ReportedRun,
): Promise<void> {
  const id = workflowIdOf(pool);
  const { cluster: _, ...ofAny } = pool;
  const plain = workflowIdOf(ofAny);
  if (run.workflowId === id || !`/${run.workflowId}`.endsWith(`/${plain}`)) return;
  const previous = run.workflowId.slice(0, -plain.length).replace(/\/$/, "");
  const owner = await ownerOfSchedule(client, scheduleIdOf({ cluster: previous }));
  if (self.uid === "" || owner?.uid !== self.uid) return;
  // Without the run ID, because the reported run may have continued as new since.
  const handle = client.workflow.getHandle(run.workflowId);
  try {
    const { status, taskQueue } = await handle.describe();
    if (status.name !== "RUNNING") return;
    // This cluster's own workers always serve its own queue, so they show nothing about workers with the previous name.
    const isOwnQueue = taskQueue === config.taskQueue;
    if (!isOwnQueue && await isServed(client, config, taskQueue)) throw stillServed(run, taskQueue, self);
    await handle.terminate(`Continues as "${id}": the cluster was renamed`);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

function stillServed({ workflowId }: ReportedRun, taskQueue: string, self: ClusterIdentity): Error {
  const state = `workers still serve run "${workflowId}" on task queue "${taskQueue}"`;
  const remedy = "stop the workers with the previous name; in a copy of a cluster, delete the Rollouts";
  return new Error(`Failed to roll out a pool of ${clusterText(self)}: ${state}; ${remedy}`);
}
