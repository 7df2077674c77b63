/**
 * Keeps one cluster-autoscaler as its AutoscalingStrategy and the scaling groups say. A run ends when that is done, or has to
 * wait for a person: whoever changes something starts the next one.
 */
import { continueAsNew, proxyActivities, setCurrentDetails, setHandler, workflowInfo } from "@temporalio/workflow";
import { autoscalingChanged } from "./commands/messages.ts";
import type { AutoscalerActivities, AutoscalerOutcome, ClusterObject } from "./contracts/mod.ts";

// An API server may be away for an hour; what it would have been told is read afresh by each try.
const { ensureAutoscalerKept } = proxyActivities<AutoscalerActivities>({
  startToCloseTimeout: "30s",
  scheduleToCloseTimeout: "2h",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "200ms", backoffCoefficient: 2, maximumInterval: "30s", maximumAttempts: 300 },
});

/** Looks until nothing has changed meanwhile; its id is `autoscaling-strategy/<name>`. */
export async function keepAutoscaler(object: ClusterObject): Promise<AutoscalerOutcome> {
  let isChanged = false;
  setHandler(autoscalingChanged, () => void (isChanged = true));
  for (;;) {
    isChanged = false;
    const summary = `Keep the autoscaler of "${object.name}"`;
    const seen = await ensureAutoscalerKept.executeWithOptions({ summary }, [{ object }]);
    setCurrentDetails(seen.outcome === "Gone" ? "There is no such strategy any more" : seen.says);
    // No await between this look and the return: a late signal then starts a new run.
    if (!isChanged) return seen;
    // Who writes without end gets a long row of short histories.
    if (workflowInfo().continueAsNewSuggested) return await continueAsNew<typeof keepAutoscaler>(object);
  }
}
