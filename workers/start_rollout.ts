/** Tells the one workflow of a pool that something changed, and starts it when none runs. */
import type { Client } from "@temporalio/client";
import { TypedSearchAttributes } from "@temporalio/common";
import { searchAttributes } from "../workflows/search_attributes.ts";
import type { Config } from "./config.ts";
import type { PoolNews } from "./pool_notifier.ts";

/** Safe to call any number of times: one id per pool, and the signal says only "read again". */
export async function startRollout(
  client: Client,
  config: Config,
  { pool, generation, publishOnly }: PoolNews,
): Promise<void> {
  const { namespace, name } = pool;
  await client.workflow.signalWithStart("rollOutMachineDeployment", {
    workflowId: `machine-deployment/${namespace}/${name}`,
    taskQueue: config.OSTLER_TASK_QUEUE,
    args: [{ namespace, name, ...deadlines(config), ...(publishOnly ? { publishOnly } : {}) }],
    signal: "desiredChanged",
    signalArgs: [{ generation }],
    staticSummary: `Roll out ${namespace}/${name}`,
    staticDetails: `Brings the machines of MachineDeployment \`${namespace}/${name}\` to what it asks for.`,
    typedSearchAttributes: new TypedSearchAttributes([
      { key: searchAttributes.namespace, value: namespace },
      { key: searchAttributes.machineDeployment, value: name },
      { key: searchAttributes.phase, value: "Preparing" },
    ]),
  });
}

function deadlines(config: Config): object {
  return Object.keys(config.OSTLER_DEADLINES).length > 0 ? { deadlines: config.OSTLER_DEADLINES } : {};
}
