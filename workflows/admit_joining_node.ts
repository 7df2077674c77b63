/**
 * A node that was let in: sees it come, writes on it what it runs, and forgets its record; by its deadline the record goes
 * all the same. The only one that a run waits for, so a thousand nodes that join are a thousand short histories.
 */
import { proxyActivities, setCurrentDetails, workflowInfo } from "@temporalio/workflow";
import { waitsQueueOf } from "./commands/start_options.ts";
import type { ClusterObject, JoiningActivities, JoiningOutcome } from "./contracts/mod.ts";

// The deadline is on the record, and at most a week away; each try begins where the one before stopped.
const patient = {
  startToCloseTimeout: "24h",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "500ms", backoffCoefficient: 2, maximumInterval: "1m", maximumAttempts: 2_000 },
} as const;

/** Admits the node that one JoiningNode announces; its id is `joining-node/<name>`. */
export async function admitJoiningNode(object: ClusterObject): Promise<JoiningOutcome> {
  const taskQueue = waitsQueueOf(workflowInfo().taskQueue);
  const { awaitNodeAnnotated } = proxyActivities<JoiningActivities>({ ...patient, taskQueue });
  for (;;) {
    const summary = `Wait for the node that "${object.name}" announces`;
    const seen = await awaitNodeAnnotated.executeWithOptions({ summary }, [{ object }]);
    // After an outage, which counts for nothing: it is looked at again, in a step that begins then.
    if ("unseenMs" in seen) continue;
    setCurrentDetails(detailsOf(seen));
    return seen;
  }
}

function detailsOf(seen: JoiningOutcome): string {
  if (seen.outcome === "Annotated") return `Node \`${seen.node}\` runs components \`${seen.components}\``;
  return seen.outcome === "Expired" ? seen.says : "The record was deleted by somebody else";
}
