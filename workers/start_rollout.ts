/** Tells the one workflow of a pool that something changed, and starts it when none runs. */
import type { Client } from "@temporalio/client";
import { TypedSearchAttributes, WorkflowNotFoundError } from "@temporalio/common";
import { poolOf, shownAtStart, workflowIdOf, workflowTypeOf } from "../workflows/commands/start_options.ts";
import type { PoolRef } from "../workflows/contracts/mod.ts";
import type { Config } from "./config.ts";
import type { PoolNews, ReportedRun } from "./pool_notifier.ts";

/** Safe to call any number of times: one id per pool, and the signal says only "read again". Gives the run that was told. */
export async function startRollout(
  client: Client,
  config: Config,
  { pool: seen, generation, run, observed }: PoolNews,
): Promise<ReportedRun> {
  const pool = config.cluster === "" ? poolOf(seen) : { cluster: config.cluster, ...poolOf(seen) };
  await endUnderOtherId(client, pool, run);
  const { typedSearchAttributes, ...shown } = shownAtStart(pool);
  const workflowId = workflowIdOf(pool);
  const { signaledRunId } = await client.workflow.signalWithStart(workflowTypeOf(pool), {
    workflowId,
    taskQueue: config.taskQueue,
    args: [{ ...pool, ...givenDeadlines(config) }],
    signal: "desiredChanged",
    signalArgs: [{ generation, ...(observed === undefined ? {} : { observed }) }],
    ...shown,
    typedSearchAttributes: new TypedSearchAttributes(typedSearchAttributes),
  });
  return { workflowId, runId: signaledRunId };
}

// The cluster was given a name, or another one: two runs must not look after one pool. The next one goes on from what
// stands on the Rollout and on the machines.
async function endUnderOtherId(client: Client, pool: PoolRef, run: ReportedRun | undefined): Promise<void> {
  const id = workflowIdOf(pool);
  const { cluster: _, ...ofAny } = pool;
  const plain = workflowIdOf(ofAny);
  if (!run || run.workflowId === id || !`/${run.workflowId}`.endsWith(`/${plain}`)) return;
  const handle = client.workflow.getHandle(run.workflowId, run.runId);
  await handle.terminate(`Continues as "${id}": the cluster was renamed`).catch((error: unknown) => {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  });
}

/** What an administrator set for every rollout. */
export function givenDeadlines(config: Config): { deadlines?: Config["deadlines"] } {
  return Object.keys(config.deadlines).length > 0 ? { deadlines: config.deadlines } : {};
}
