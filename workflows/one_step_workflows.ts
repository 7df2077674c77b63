/**
 * Short workflows of one activity each: they admit nodes, discover scaling groups, reconcile autoscalers, send
 * notifications, and plan rollouts.
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
import { counted } from "./policy/counted.ts";
import { patient } from "./proxies.ts";

// Admits a node: annotates it with the components that it runs, and deletes its JoiningNode. A run starts when the node
// has joined, or at the deadline of the JoiningNode, so that a thousand JoiningNodes without a node occupy no worker.
// Only the run for a control plane waits, until its node is a complete control plane; control planes join one at a
// time.

// The API server can be unavailable for an hour.
const { ensureNodeAnnotated } = proxyActivities<JoiningActivities>({
  ...patient,
  startToCloseTimeout: "30s",
  scheduleToCloseTimeout: "2h",
});

/** Admits the node that one JoiningNode announces; its workflow ID is `joining-node/<name>`. */
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
    // No await may come between this check and the return: a signal that arrives later then starts a new run, so none
    // is lost.
    else if (!isChanged) return seen;
    // A node that joins and leaves repeatedly can keep the run from ending, so it continues as new before its history
    // gets too long.
    if (workflowInfo().continueAsNewSuggested) return await continueAsNew<typeof admitJoiningNode>(object);
  }
}

function detailsOf(seen: JoiningOutcome): string {
  if ("says" in seen) return seen.says;
  if (seen.outcome === "Gone") return "The JoiningNode was deleted by another client";
  return `Node \`${seen.node}\` runs components \`${seen.components}\``;
}

// Discovers the scaling groups of a cluster in its cloud; the Schedule `discover-scaling-groups` starts the runs.

// When the cloud does not answer, the next run of the Schedule retries.
const { ensureGroupsDiscovered } = proxyActivities<DiscoveryActivities>({
  startToCloseTimeout: "2m",
  scheduleToCloseTimeout: "10m",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "30s", maximumAttempts: 20 },
});

/**
 * Creates a ScalingGroup for each group of the cloud that has none, and deletes the ScalingGroups of deleted groups.
 * Returns the number of groups, and the names of the objects that were created and deleted.
 */
export async function discoverScalingGroups({ cluster }: { cluster?: string }): Promise<DiscoveryResult> {
  const object = cluster === undefined ? { name: "" } : { cluster, name: "" };
  const found = await ensureGroupsDiscovered.executeWithOptions({ summary: "Discover scaling groups" }, [{ object }]);
  setCurrentDetails(
    `Found ${counted(found.groups, "group")}; created ${counted(found.made.length, "ScalingGroup")}, ` +
      `deleted ${found.removed.length}`,
  );
  return found;
}

// Configures one cluster-autoscaler as its AutoscalingStrategy and the scaling groups require. A run ends when the
// autoscaler is as required or a person must act; the next change starts the next run.

// The API server can be unavailable for an hour, and each try reads the state again.
const { ensureAutoscalerKept } = proxyActivities<AutoscalerActivities>({
  ...patient,
  startToCloseTimeout: "30s",
  scheduleToCloseTimeout: "2h",
});

/**
 * Reconciles one cluster-autoscaler, and repeats that if something changed meanwhile; the workflow ID is
 * `autoscaling-strategy/<name>`.
 */
export async function keepAutoscaler(object: ClusterObject): Promise<AutoscalerOutcome> {
  let isChanged = false;
  setHandler(autoscalingChanged, () => void (isChanged = true));
  for (;;) {
    isChanged = false;
    const summary = `Reconcile the autoscaler of AutoscalingStrategy "${object.name}"`;
    const seen = await ensureAutoscalerKept.executeWithOptions({ summary }, [{ object }]);
    setCurrentDetails(seen.outcome === "Gone" ? `AutoscalingStrategy "${object.name}" was deleted` : seen.says);
    // No await may come between this check and the return: a signal that arrives later then starts a new run, so none
    // is lost.
    if (!isChanged) return seen;
    // Frequent changes can keep the run from ending, so it continues as new before its history gets too long.
    if (workflowInfo().continueAsNewSuggested) return await continueAsNew<typeof keepAutoscaler>(object);
  }
}

// Sends one notification about a rollout to receivers outside of Kubernetes, in a run of its own, because a rollout
// must not wait for a chat. The workflow ID is derived from the notification, so that each is sent once.

// A receiver can be unavailable for a night, so delivery is retried for a day; after that, people should read the
// Rollout instead.
const overnight = {
  startToCloseTimeout: "30s",
  scheduleToCloseTimeout: "24h",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "2s", backoffCoefficient: 2, maximumInterval: "10m", maximumAttempts: 200 },
} as const;

/**
 * Delivers the notification to each target separately, so that one unavailable target causes no second delivery to
 * another. Fails if one delivery failed, but only after all have ended.
 */
export async function sendNotice({ pool, notice, to }: NoticeInput): Promise<void> {
  // Delivery is on the queue for waits, so that a thousand attempts to reach a receiver that is down delay no short
  // step.
  const taskQueue = waitsQueueOf(workflowInfo().taskQueue);
  const { deliverNotice } = proxyActivities<NoticeActivities>({ ...overnight, taskQueue });
  const told = await Promise.allSettled(
    to.map((target) => deliverNotice.executeWithOptions({ summary: `Notify ${target}` }, [{ pool, notice, target }])),
  );
  const failed = told.find((each) => each.status === "rejected");
  if (failed) throw failed.reason;
}

// Plans a rollout on a worker, because only workers can reach the clouds of scaling groups; changes nothing.

// A person waits for the plan, so the deadlines are short.
const { planRollout } = proxyActivities<ReadActivities>({
  startToCloseTimeout: "40s",
  scheduleToCloseTimeout: "1m",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "5s", maximumAttempts: 5 },
});

/**
 * Returns the plan that a rollout of the pool would follow from the current state; the workflow ID is `plan/<workflow
 * ID of the rollout>`.
 */
export async function planPool(pool: PoolRef): Promise<RolloutPlan> {
  return await planRollout.executeWithOptions({ summary: "Plan the rollout" }, [{ pool }]);
}
