/**
 * Wall-clock durations of the drains of machines, from the history of the rollout's workflow: the durations that the
 * workflow itself reports exclude the time without a worker.
 */
import { defaultPayloadConverter } from "@temporalio/common";
import type { WorkflowHandle } from "@temporalio/client";

/** Returns the seconds from the first step that drains a machine to its release, by machine. */
export async function drainTimesOf(handle: Pick<WorkflowHandle, "fetchHistory">): Promise<Map<string, number>> {
  const { events } = await handle.fetchHistory();
  const [began, ended] = [new Map<string, number>(), new Map<string, number>()];
  for (const { activityTaskScheduledEventAttributes: step, eventTime } of events ?? []) {
    const name = step?.activityType?.name ?? "";
    const times = name === "awaitNodeEmptied" ? began : name === "awaitVictimGone" ? ended : undefined;
    const [payload] = step?.input?.payloads ?? [];
    if (!times || !payload) continue;
    const { machine } = defaultPayloadConverter.fromPayload<{ machine: string }>(payload);
    const at = Number(eventTime?.seconds ?? 0) + (eventTime?.nanos ?? 0) / 1e9;
    if (!times.has(machine)) times.set(machine, at);
  }
  return new Map([...ended].map(([machine, at]) => [machine, at - (began.get(machine) ?? at)]));
}
