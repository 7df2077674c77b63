/** What the workers of a process are made of: one for workflows and short steps, and one for waits. */
import type { Cluster } from "../activities/cluster.ts";
import { readFile } from "node:fs/promises";
import type { ActivityInterceptorsFactory, WorkerOptions } from "@temporalio/worker";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Measures } from "../activities/measures.ts";
import { type ActivityDeps, createActivities } from "../activities/mod.ts";
import { waitsQueueOf } from "../workflows/commands/start_options.ts";
import { forecast } from "../workflows/policy/forecast.ts";
import type { Config } from "./config.ts";
import { deploymentNameOf } from "./current_version.ts";

/** What activities work with: their cluster, the PEM of the CA by which it is trusted now, and what measures them. */
export interface StepMeans {
  kube: Cluster;
  clusterCa: () => string;
  measures?: Measures;
  /** What is noted of each step. */
  steps: ActivityInterceptorsFactory[];
}

/** The options of both workers, without their connection. */
export function workersOf(config: Config, means: StepMeans): WorkerOptions[] {
  const activities = activitiesOf(config, means);
  const common = {
    activities,
    interceptors: { activity: means.steps },
    namespace: config.temporal.namespace,
    ...(config.identity ? { identity: config.identity } : {}),
    ...versionOf(config),
    maxHeartbeatThrottleInterval: "3s",
    defaultHeartbeatThrottleInterval: "3s",
    shutdownGraceTime: "25s",
    shutdownForceTime: "50s",
  } as const;
  return [
    {
      ...common,
      ...workflowSource(config),
      taskQueue: config.taskQueue,
      maxConcurrentActivityTaskExecutions: config.stepSlots,
      ...patchesOf(config),
      maxCachedWorkflows: 200,
    },
    // Waits use neither CPU nor memory, but a slot each for as long as a day: on slots of their own they starve nobody.
    {
      ...common,
      taskQueue: waitsQueueOf(config.taskQueue),
      maxConcurrentActivityTaskExecutions: config.waitSlots,
    },
  ];
}

/** A token may change under a process at work. */
function metricsAccessOf(
  { prometheusHosts: hosts, prometheusCa: ca, prometheusTokenFile: file }: Config,
): ActivityDeps["metricsAccess"] & object {
  return { hosts, ca, token: async () => file === "" ? "" : (await readFile(file, "utf8")).trim() };
}

function activitiesOf(config: Config, means: StepMeans): ReturnType<typeof createActivities> {
  return createActivities({
    ...means,
    environment: process.env,
    cluster: config.cluster,
    profileNamespace: config.namespace,
    credentialSeconds: config.credentialSeconds,
    tokensTellPool: config.approveJoiningNodes,
    settings: config.node,
    notices: {
      webhook: config.notifyWebhookFile,
      template: config.notifyTemplateFile,
      cloudEvents: config.notifyEventsFile,
    },
    referenceNamespaces: config.providerReferenceNamespaces,
    metricsAccess: metricsAccessOf(config),
    handsImage: config.handsImage,
    forecast,
  });
}

/**
 * The version of a worker; none without a build id. A run always moves on to the current version: one that was pinned
 * would keep its own alive for as long as it is halted or paused, and through continue-as-new for ever.
 */
export function versionOf(
  config: Pick<Config, "buildId" | "deployment" | "cluster">,
): Pick<WorkerOptions, "workerDeploymentOptions"> {
  const { buildId } = config;
  if (buildId === "") return {};
  const version = { deploymentName: deploymentNameOf(config), buildId };
  return {
    workerDeploymentOptions: { useWorkerVersioning: true, version, defaultVersioningBehavior: "AUTO_UPGRADE" },
  };
}

/** Who is asked whether a change behind a patch begins in a run; nobody where all do, as the workflows' thread stands still meanwhile. */
export function patchesOf(
  { holdPatches }: Pick<Config, "holdPatches">,
): Pick<WorkerOptions, "patchActivationCallback"> {
  return holdPatches ? { patchActivationCallback: () => false } : {};
}

function workflowSource(config: Config): Partial<WorkerOptions> {
  if (config.workflowBundle) return { workflowBundle: { codePath: config.workflowBundle } };
  return { workflowsPath: fileURLToPath(new URL("../workflows/mod.ts", import.meta.url)) };
}
