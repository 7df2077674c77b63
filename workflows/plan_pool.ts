/** What a rollout would do, asked of a worker: only workers see the clouds of scaling groups. Nothing is changed. */
import { proxyActivities } from "@temporalio/workflow";
import type { PoolRef, ReadActivities, RolloutPlan } from "./contracts/mod.ts";

// A person waits for it.
const { planRollout } = proxyActivities<ReadActivities>({
  startToCloseTimeout: "40s",
  scheduleToCloseTimeout: "1m",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "5s", maximumAttempts: 5 },
});

/** The plan as its run would make it from what is there now; its id is `plan/<id of the rollout>`. */
export async function planPool(pool: PoolRef): Promise<RolloutPlan> {
  return await planRollout.executeWithOptions({ summary: "Plan the rollout" }, [{ pool }]);
}
