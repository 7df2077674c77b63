/**
 * Tells people outside of Kubernetes one thing about a rollout. A run of its own, as a rollout must not wait for a chat;
 * its id is that of the thing, so that the same thing is told once, whoever sees it how often.
 */
import { proxyActivities, workflowInfo } from "@temporalio/workflow";
import { waitsQueueOf } from "./commands/start_options.ts";
import type { NoticeActivities, NoticeInput } from "./contracts/mod.ts";

// A receiver may be away for a night; who reads of it a day later reads the Rollout instead.
const patient = {
  startToCloseTimeout: "30s",
  scheduleToCloseTimeout: "24h",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "2s", backoffCoefficient: 2, maximumInterval: "10m", maximumAttempts: 200 },
} as const;

/** Delivers to each target by itself: that one is away is no reason to tell another twice. */
export async function sendNotice({ pool, notice, to }: NoticeInput): Promise<void> {
  // Among waits: a thousand tries of a receiver that never answers take no slot from a step.
  const taskQueue = waitsQueueOf(workflowInfo().taskQueue);
  const { deliverNotice } = proxyActivities<NoticeActivities>({ ...patient, taskQueue });
  const told = await Promise.allSettled(
    to.map((target) => deliverNotice.executeWithOptions({ summary: `Tell ${target}` }, [{ pool, notice, target }])),
  );
  const failed = told.find((each) => each.status === "rejected");
  if (failed) throw failed.reason;
}
