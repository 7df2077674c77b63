/** Runs activity code as a worker would, with an identity, heartbeats and cancellation, and without a server. */
import { asyncLocalStorage, Context } from "@temporalio/activity";
import type { Info } from "@temporalio/activity";
import { CancelledFailure, noopMetricMeter } from "@temporalio/common";
import type { Logger } from "@temporalio/common";

export interface ActivityRun {
  activityId?: string;
  runId?: string;
  /** Number of the attempt. */
  attempt?: number;
  /** When the activity was scheduled (epoch ms). */
  scheduledTimestampMs?: number;
  /** The last heartbeat of the previous attempt. */
  heartbeatDetails?: unknown;
  /** Collects the heartbeats. */
  heartbeats?: unknown[];
  /** Missing for an activity without a heartbeat timeout. */
  heartbeatTimeoutMs?: number;
  /** Aborting it cancels the activity. */
  cancel?: AbortSignal;
}

/** Runs `work` inside an activity of the workflow "machine-deployment/fleet/pool". */
export function inActivity<T>(work: () => Promise<T>, run: ActivityRun = {}): Promise<T> {
  const {
    activityId = "1",
    runId = "run-1",
    attempt = 1,
    scheduledTimestampMs,
    heartbeatDetails,
    heartbeatTimeoutMs,
    heartbeats = [],
    cancel = new AbortController().signal,
  } = run;
  const execution = { workflowId: "machine-deployment/fleet/pool", runId };
  const stopping = new AbortController();
  const { promise: cancelled, reject } = Promise.withResolvers<never>();
  cancelled.catch(() => undefined); // prevents an unhandled rejection when nothing listens
  const stop = (): void => {
    const reason = new CancelledFailure("CANCELLED");
    stopping.abort(reason);
    reject(reason);
  };
  if (cancel.aborted) stop();
  cancel.addEventListener("abort", stop);
  const context = new Context(
    {
      ...{ activityId, attempt, scheduledTimestampMs, heartbeatDetails, heartbeatTimeoutMs },
      workflowExecution: execution,
    } as Info,
    cancelled,
    stopping.signal,
    (details) => void heartbeats.push(details),
    undefined,
    console as unknown as Logger,
    noopMetricMeter,
    {},
  );
  return asyncLocalStorage.run(context, work);
}
