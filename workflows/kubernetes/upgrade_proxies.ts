/** The activities of upgrades of Kubernetes and of renewals of certificates. */
import { proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { ActivityInterfaceFor } from "@temporalio/workflow";
import { waitsQueueOf } from "../commands/start_options.ts";
import type { RenewalActivities, RenewalWaits, UpgradeActivities, UpgradeWaits } from "../contracts/mod.ts";
import { patient } from "../proxies.ts";

/** The activities that read or write, on the task queue of the workflow. */
export const act = proxyActivities<UpgradeActivities & RenewalActivities>({
  ...patient,
  startToCloseTimeout: "2m",
  scheduleToCloseTimeout: "3h",
});

/**
 * Returns the activities that wait. This is a function, because the name of their task queue is known only inside a
 * run.
 */
export function waits(): ActivityInterfaceFor<UpgradeWaits & RenewalWaits> {
  const taskQueue = waitsQueueOf(workflowInfo().taskQueue);
  return proxyActivities<UpgradeWaits & RenewalWaits>({ ...patient, startToCloseTimeout: "2h", taskQueue });
}
