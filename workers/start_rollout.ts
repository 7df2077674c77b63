/** Tells the one workflow of a pool that something changed, and starts it when none runs. */
import type { Client } from "@temporalio/client";
import { TypedSearchAttributes } from "@temporalio/common";
import { poolOf, shownAtStart, workflowIdOf } from "../workflows/commands/start_options.ts";
import type { Config } from "./config.ts";
import type { PoolNews } from "./pool_notifier.ts";

/** Safe to call any number of times: one id per pool, and the signal says only "read again". */
export async function startRollout(
  client: Client,
  config: Config,
  { pool, generation }: PoolNews,
): Promise<void> {
  const { typedSearchAttributes, ...shown } = shownAtStart(pool);
  await client.workflow.signalWithStart("rollOutMachineDeployment", {
    workflowId: workflowIdOf(pool),
    taskQueue: config.taskQueue,
    args: [{ ...poolOf(pool), ...givenDeadlines(config) }],
    signal: "desiredChanged",
    signalArgs: [{ generation }],
    ...shown,
    typedSearchAttributes: new TypedSearchAttributes(typedSearchAttributes),
  });
}

/** What an administrator set for every rollout. */
export function givenDeadlines(config: Config): { deadlines?: Config["deadlines"] } {
  return Object.keys(config.deadlines).length > 0 ? { deadlines: config.deadlines } : {};
}
