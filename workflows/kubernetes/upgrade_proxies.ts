/** The activities of an upgrade of Kubernetes; the API server can be unavailable for an hour. */
import { proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { ActivityInterfaceFor } from "@temporalio/workflow";
import { waitsQueueOf } from "../commands/start_options.ts";
import type { UpgradeActivities, UpgradeWaits } from "../contracts/mod.ts";

const patient = {
  heartbeatTimeout: "10s",
  retry: { initialInterval: "200ms", backoffCoefficient: 2, maximumInterval: "30s", maximumAttempts: 300 },
} as const;

/** Reads and writes. */
export const act = proxyActivities<UpgradeActivities>({
  ...patient,
  startToCloseTimeout: "2m",
  scheduleToCloseTimeout: "3h",
});

/** Waits; only a run knows the name of their queue. */
export function waits(): ActivityInterfaceFor<UpgradeWaits> {
  const taskQueue = waitsQueueOf(workflowInfo().taskQueue);
  return proxyActivities<UpgradeWaits>({ ...patient, startToCloseTimeout: "2h", taskQueue });
}
