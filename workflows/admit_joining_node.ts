/**
 * A node that was let in: writes on it what it runs, and forgets its record. A run begins when the node has come or its
 * deadline has, and waits for nothing: a thousand records whose nodes never come cost nobody a slot. A control plane alone is
 * waited for by its run, of which there is one at a time.
 */
import {
  condition,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import { joiningChanged } from "./commands/messages.ts";
import type { ClusterObject, JoiningActivities, JoiningOutcome } from "./contracts/mod.ts";

// An API server may be away for an hour.
const { ensureNodeAnnotated } = proxyActivities<JoiningActivities>({
  startToCloseTimeout: "30s",
  scheduleToCloseTimeout: "2h",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "200ms", backoffCoefficient: 2, maximumInterval: "30s", maximumAttempts: 300 },
});

/** Admits the node that one JoiningNode announces; its id is `joining-node/<name>`. */
export async function admitJoiningNode(object: ClusterObject): Promise<JoiningOutcome> {
  let isChanged = false;
  setHandler(joiningChanged, () => void (isChanged = true));
  for (;;) {
    isChanged = false;
    const summary = `Annotate the node that "${object.name}" announces`;
    const seen = await ensureNodeAnnotated.executeWithOptions({ summary }, [{ object }]);
    setCurrentDetails(detailsOf(seen));
    const againMs = seen.outcome === "Waiting" ? seen.againMs : undefined;
    if (againMs !== undefined && !isChanged) await condition(() => isChanged, againMs);
    // No await between this look and the return: a late signal then starts a new run.
    else if (!isChanged) return seen;
    // Whose node comes and goes without end gets a long row of short histories.
    if (workflowInfo().continueAsNewSuggested) return await continueAsNew<typeof admitJoiningNode>(object);
  }
}

function detailsOf(seen: JoiningOutcome): string {
  if ("says" in seen) return seen.says;
  if (seen.outcome === "Gone") return "The record was deleted by somebody else";
  return `Node \`${seen.node}\` runs components \`${seen.components}\``;
}
