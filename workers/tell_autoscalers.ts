/**
 * Starts a run for each AutoscalingStrategy; the run configures the cluster-autoscaler according to the strategy and
 * the scaling groups.
 */
import type { Client } from "@temporalio/client";
import { createHash } from "node:crypto";
import { Informer } from "../activities/kube/informer.ts";
import type { InformerDeps } from "../activities/kube/informer.ts";
import type { Resource } from "../activities/kube/resources.ts";
import {
  autoscalingStrategies,
  AutoscalingStrategy,
  ScalingGroup,
  scalingGroups,
} from "../activities/kube/update_kinds.ts";
import { autoscalerIdOf } from "../workflows/commands/start_options.ts";
import type { Config } from "./config.ts";
import { shownOf } from "./shown_of.ts";
import { type ObjectNews, tellObjects } from "./tell_objects.ts";

/**
 * UID and generation of a strategy. The spec alone is not enough: a run may have read a changed spec that was changed
 * back since.
 */
const strategies: Resource<string> = {
  ...autoscalingStrategies,
  schema: AutoscalingStrategy.transform(({ metadata: { uid, generation } }) => `${uid} ${generation}`),
};

/** UID and generation of a group. */
const groups: Resource<string> = {
  ...scalingGroups,
  schema: ScalingGroup.transform(({ metadata: { uid, generation } }) => `${uid} ${generation}`),
};

type AutoscalerDeps = Pick<ObjectNews, "tell" | "every"> & Required<Pick<InformerDeps<never>, "kube" | "log">>;

/** Signals the run of each strategy until `signal` aborts; a change of any group is signalled to all strategies. */
export async function tellAutoscalers({ kube, log, ...news }: AutoscalerDeps, signal: AbortSignal): Promise<void> {
  let ofGroups: string | undefined;
  const named = new Informer(strategies, { kube, log, signal });
  const scaled = new Informer(groups, { kube, log, signal, onChange: () => void (ofGroups = undefined) });
  await Promise.all([named.start(), scaled.start()]);
  const seen = (): [string, string][] => {
    ofGroups ??= digestOf(scaled.keys().sort().map((key) => [key, scaled.get(key)]));
    return named.keys().map((name) => [name, `${named.get(name)} ${ofGroups}`]);
  };
  await tellObjects({ ...news, what: "autoscaling strategy", seen, log }, signal);
}

/** Signals the run of an AutoscalingStrategy to read the strategy and the groups again; starts one if none is open. */
export async function keepAutoscaler(client: Client, { cluster, taskQueue }: Config, name: string): Promise<void> {
  const object = cluster === "" ? { name } : { cluster, name };
  await client.workflow.signalWithStart("keepAutoscaler", {
    workflowId: autoscalerIdOf(object),
    // A timeout ends runs on the task queue of a renamed cluster, which no worker serves any more.
    workflowExecutionTimeout: "1 day",
    taskQueue,
    args: [object],
    signal: "autoscalingChanged",
    signalArgs: [],
    staticSummary: `Keep autoscaler ${name}`,
    staticDetails: `Configures the cluster-autoscaler for AutoscalingStrategy \`${name}\` and the scaling groups.`,
    ...shownOf(cluster),
  });
}

function digestOf(facts: unknown): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("base64").slice(0, 16);
}
