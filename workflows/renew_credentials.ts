/**
 * Has credentials renewed before they are old: those of a pool at rest at once; of any other whose time has come the
 * rollout is started, or told where it runs already. Started by the Schedule `renew-credentials`; a run looks at one page
 * of pools, and the next goes on.
 */
import {
  ChildWorkflowCancellationType,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  setCurrentDetails,
  startChild,
} from "@temporalio/workflow";
import type { DuePool, PoolRef, RenewInput, RenewResult, Rest } from "./contracts/mod.ts";
import { desiredChanged } from "./commands/messages.ts";
import { publish, read } from "./proxies.ts";
import { rollOutMachineDeployment } from "./roll_out_pool.ts";
import { poolOf, shownAtStart, workflowIdOf } from "./commands/start_options.ts";

/** Renews what is due of pools at rest; starts or tells the rollouts of all others, and never waits for one. */
export async function renewCredentials(input: RenewInput = {}): Promise<RenewResult> {
  const { after, pools: before } = input.carried ?? { after: undefined, pools: 0 };
  const { pools, next } = await read.listDuePools.executeWithOptions({ summary: "List pools with credentials due" }, [
    after === undefined ? {} : { after },
  ]);
  await Promise.all(pools.map((pool) => renew(pool, input)));
  const seen = before + pools.length;
  setCurrentDetails(`Requested renewal of the credentials of ${seen} pools${next ? "; listing more" : ""}`);
  if (next === undefined) return { pools: seen };
  return await continueAsNew<typeof renewCredentials>({ ...input, carried: { after: next, pools: seen } });
}

async function renew({ publishOnly, rest, ...due }: DuePool, { cluster, deadlines }: RenewInput): Promise<void> {
  const pool = poolOf(cluster === undefined ? due : { ...due, cluster });
  if (rest && await renewAtRest(pool, rest) === "Done") return;
  const started = startChild(rollOutMachineDeployment, {
    workflowId: workflowIdOf(pool),
    args: [{ ...pool, ...(deadlines ? { deadlines } : {}), ...(publishOnly ? { publishOnly } : {}) }],
    ...shownAtStart(pool),
    // It is a rollout like any other, which goes on whatever becomes of this run.
    parentClosePolicy: ParentClosePolicy.ABANDON,
    cancellationType: ChildWorkflowCancellationType.ABANDON,
  });
  await started.catch(async (error: unknown) => {
    if (isCancellation(error)) throw error;
    await tell(pool);
  });
}

// What cannot be done here a rollout tries for as long as it takes, and tells.
async function renewAtRest(pool: PoolRef, rest: Rest): Promise<"Done" | "RolloutNeeded"> {
  const summary = `Renew the credentials of ${pool.namespace}/${pool.name}`;
  try {
    const { news } = await publish.ensureRestRenewed.executeWithOptions({ summary }, [{ pool, rest }]);
    return news === "RolloutNeeded" ? news : "Done";
  } catch (error) {
    if (isCancellation(error)) throw error;
    return "RolloutNeeded";
  }
}

// A rollout that ended in this very moment is found by the next look, if it left anything to renew.
async function tell(pool: PoolRef): Promise<void> {
  await getExternalWorkflowHandle(workflowIdOf(pool)).signal(desiredChanged, {}).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
  });
}
