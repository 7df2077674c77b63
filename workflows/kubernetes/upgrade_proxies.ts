/** The activities of an upgrade of Kubernetes. */
import { proxyActivities, workflowInfo } from "@temporalio/workflow";
import type { ActivityInterfaceFor } from "@temporalio/workflow";
import { waitsQueueOf } from "../commands/start_options.ts";
import type { UpgradeActivities, UpgradeWaits } from "../contracts/mod.ts";
import { patient } from "../proxies.ts";

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
