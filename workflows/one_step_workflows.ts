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
import { autoscalingChanged, joiningChanged } from "./commands/messages.ts";
import type {
  AutoscalerActivities,
  AutoscalerOutcome,
  ClusterObject,
  DiscoveryActivities,
  DiscoveryResult,
  JoiningActivities,
  JoiningOutcome,
  NoticeActivities,
  NoticeInput,
  PoolRef,
  ReadActivities,
  RolloutPlan,
} from "./contracts/mod.ts";
import { waitsQueueOf } from "./commands/start_options.ts";

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
    const summary = `Annotate the node of JoiningNode "${object.name}"`;
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
  if (seen.outcome === "Gone") return "The JoiningNode was deleted by another client";
  return `Node \`${seen.node}\` runs components \`${seen.components}\``;
}

// Finds the scaling groups of a cluster in its cloud. Started by the Schedule `discover-scaling-groups`.

// What the cloud does not tell now, the next look of the Schedule asks for again.
const { ensureGroupsDiscovered } = proxyActivities<DiscoveryActivities>({
  startToCloseTimeout: "2m",
  scheduleToCloseTimeout: "10m",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "30s", maximumAttempts: 20 },
});

/** Makes an object for each that has none, and removes those of groups that are gone. */
export async function discoverScalingGroups({ cluster }: { cluster?: string }): Promise<DiscoveryResult> {
  const object = cluster === undefined ? { name: "" } : { cluster, name: "" };
  const found = await ensureGroupsDiscovered.executeWithOptions({ summary: "Discover scaling groups" }, [{ object }]);
  setCurrentDetails(
    `Found ${found.groups} groups; created ${found.made.length} ScalingGroups, deleted ${found.removed.length}`,
  );
  return found;
}

// Keeps one cluster-autoscaler as its AutoscalingStrategy and the scaling groups say. A run ends when that is done, or has to
// wait for a person: whoever changes something starts the next one.

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
    const summary = `Reconcile the autoscaler of AutoscalingStrategy "${object.name}"`;
    const seen = await ensureAutoscalerKept.executeWithOptions({ summary }, [{ object }]);
    setCurrentDetails(seen.outcome === "Gone" ? `AutoscalingStrategy "${object.name}" was deleted` : seen.says);
    // No await between this look and the return: a late signal then starts a new run.
    if (!isChanged) return seen;
    // Who writes without end gets a long row of short histories.
    if (workflowInfo().continueAsNewSuggested) return await continueAsNew<typeof keepAutoscaler>(object);
  }
}

// Tells people outside of Kubernetes one thing about a rollout. A run of its own, as a rollout must not wait for a chat;
// its id is that of the thing, so that the same thing is told once, whoever sees it how often.

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
    to.map((target) => deliverNotice.executeWithOptions({ summary: `Notify ${target}` }, [{ pool, notice, target }])),
  );
  const failed = told.find((each) => each.status === "rejected");
  if (failed) throw failed.reason;
}

// What a rollout would do, asked of a worker: only workers see the clouds of scaling groups. Nothing is changed.

// A person waits for it.
const { planRollout } = proxyActivities<ReadActivities>({
  startToCloseTimeout: "40s",
  scheduleToCloseTimeout: "1m",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "5s", maximumAttempts: 5 },
});

/** The plan as its run would make it from what is there now; its id is `plan/<id of the rollout>`. */
export async function planPool(pool: PoolRef): Promise<RolloutPlan> {
  return await planRollout.executeWithOptions({ summary: "Plan the rollout" }, [{ pool }]);
}
