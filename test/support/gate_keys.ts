/** The gate evaluations of a run, read from its history. */
import type { Handle } from "./workflow_stage.ts";

/** Returns the keys that identify the gate evaluations of a run, in order. */
export async function gateKeysOf(handle: Handle): Promise<string[]> {
  const { events } = await handle.fetchHistory();
  const scheduled = events?.flatMap((event) => event.activityTaskScheduledEventAttributes ?? []) ?? [];
  const asked = scheduled.filter(({ activityType }) => activityType?.name === "awaitGates");
  return asked.map(({ input }) => JSON.parse(new TextDecoder().decode(input?.payloads?.[0]?.data ?? undefined)).key);
}
