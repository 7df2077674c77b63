/**
 * Renews credentials before they expire. If a pool has not changed since its rollout converged, the run renews the
 * credentials itself; for any other pool with credentials due it starts the rollout, or signals the rollout that runs.
 * The Schedule `renew-credentials` starts this workflow; each run of the chain reads one page of pools, and the next
 * run continues the list.
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
import { counted } from "./policy/counted.ts";

/**
 * Renews the due credentials of pools that have not changed since their rollout converged. For every other pool with
 * due credentials, starts or signals the rollout, without waiting for it.
 */
export async function renewCredentials(input: RenewInput = {}): Promise<RenewResult> {
  const { after, pools: before } = input.carried ?? { after: undefined, pools: 0 };
  const { pools, next } = await read.listDuePools.executeWithOptions({ summary: "List pools with credentials due" }, [
    after === undefined ? {} : { after },
  ]);
  await Promise.all(pools.map((pool) => renew(pool, input)));
  const seen = before + pools.length;
  setCurrentDetails(
    `Renewed, or requested rollouts to renew, the credentials of ${counted(seen, "pool")}` +
      `${next ? "; listing more" : ""}`,
  );
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
    // The child is a rollout like any other, and continues whatever becomes of this run.
    parentClosePolicy: ParentClosePolicy.ABANDON,
    cancellationType: ChildWorkflowCancellationType.ABANDON,
  });
  await started.catch(async (error: unknown) => {
    if (isCancellation(error)) throw error;
    await signalRollout(pool);
  });
}

// After a failed renewal returns RolloutNeeded, because a rollout retries the renewal until it succeeds, and reports
// the failure.
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

// If the rollout ends at this moment and its credentials are still due, the next run of this workflow finds the pool
// again.
async function signalRollout(pool: PoolRef): Promise<void> {
  await getExternalWorkflowHandle(workflowIdOf(pool)).signal(desiredChanged, {}).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
  });
}
