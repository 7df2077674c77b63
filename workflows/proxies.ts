/** The activities in four classes of timeout and retry; every retry is bounded, every wait has a deadline of its own. */
import { proxyActivities, proxyLocalActivities } from "@temporalio/workflow";
import type { AwaitActivities, PublishActivities, ReadActivities, WriteActivities } from "./contracts.ts";

// Ten tries over about a minute: longer trouble is left to the main loop, which says so and looks again.
const briefRetry = {
  initialInterval: "200ms",
  backoffCoefficient: 2,
  maximumInterval: "15s",
  maximumAttempts: 10,
} as const;

/** Reads: a few milliseconds each, one marker in the history. */
export const read = proxyLocalActivities<ReadActivities>({
  startToCloseTimeout: "20s",
  scheduleToCloseTimeout: "2m",
  retry: briefRetry,
});

/** The publish path, local for its speed: a machine cannot boot before it is done. */
export const publish = proxyLocalActivities<PublishActivities>({
  startToCloseTimeout: "30s",
  scheduleToCloseTimeout: "3m",
  retry: briefRetry,
});

/** Writes to machines and nodes: normal activities, so that each stands in the history by itself. */
export const write = proxyActivities<WriteActivities>({
  startToCloseTimeout: "30s",
  scheduleToCloseTimeout: "3m",
  retry: briefRetry,
});

// A killed worker is noticed by its missing heartbeat, so the timeout is the pause a kill costs.
const heartbeatTimeout = "10s";

/** Waits: heartbeats tell what is still missing; the absolute deadline is part of the input. */
export const awaits = proxyActivities<AwaitActivities>({
  startToCloseTimeout: "24h",
  heartbeatTimeout,
  retry: { initialInterval: "500ms", backoffCoefficient: 2, maximumInterval: "15s", maximumAttempts: 100 },
});
