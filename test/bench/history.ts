/** The size of the history of a workflow. */
import type { Client } from "@temporalio/client";

export interface HistorySize {
  events: number;
  /** Workflow tasks that were completed. */
  tasks: number;
  bytes: number;
  /**
   * The actions that Temporal Cloud bills: starts, signals, updates, activities, timers and upserts; a marker is a
   * local activity.
   */
  actions: number;
}

const billed = [
  ...["workflowExecutionStartedEventAttributes", "workflowExecutionSignaledEventAttributes"] as const,
  ...["workflowExecutionUpdateAcceptedEventAttributes", "activityTaskScheduledEventAttributes"] as const,
  ...["timerStartedEventAttributes", "upsertWorkflowSearchAttributesEventAttributes"] as const,
  "markerRecordedEventAttributes" as const,
];

/** Returns the size of the history of a run, by default the workflow's last run, which may still be running. */
export async function historyOf(client: Client, workflowId: string, runId?: string): Promise<HistorySize> {
  const handle = client.workflow.getHandle(workflowId, runId);
  const { historySize = 0 } = await handle.describe();
  const { events } = await handle.fetchHistory();
  const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes).length;
  const actions = (events ?? []).filter((event) => billed.some((attributes) => event[attributes])).length;
  return { events: events?.length ?? 0, tasks, bytes: historySize, actions };
}
