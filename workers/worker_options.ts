/** The options of a process's workers: one for workflows and short activities, and one for activities that wait. */
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

/** The dependencies of activities: the cluster, the current PEM of its CA, and the metrics. */
interface StepMeans {
  kube: Cluster;
  clusterCa: () => string;
  measures?: Measures;
  /** Interceptors that record each step. */
  steps: ActivityInterceptorsFactory[];
}

/** Returns the options of both workers, without their connection. */
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
    // Activities that wait use little CPU and memory, but occupy a slot for up to a day. With slots of their own, they
    // delay no short activity.
    {
      ...common,
      taskQueue: waitsQueueOf(config.taskQueue),
      maxConcurrentActivityTaskExecutions: config.waitSlots,
    },
  ];
}

/** Reads the token at each use, because it may change while the process runs. */
function metricsAccessOf(
  { prometheusHosts: hosts, prometheusCa: ca, prometheusTokenFile: file }: Config,
): ActivityDeps["metricsAccess"] & object {
  return { hosts, ca, token: async () => file === "" ? "" : (await readFile(file, "utf8")).trim() };
}

function activitiesOf(config: Config, means: StepMeans): ReturnType<typeof createActivities> {
  return createActivities({
    ...means,
    environment: process.env,
    usesEnvironment: config.providerEnvironment,
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
 * Returns the version of a worker; none without a build id. Runs always move to the current version: a pinned run would
 * keep its version alive while halted or paused, and through continue-as-new for ever.
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

/**
 * Returns the callback that keeps new workflow patches inactive; none unless `holdPatches` is set, because the callback
 * blocks the thread of workflows.
 */
export function patchesOf(
  { holdPatches }: Pick<Config, "holdPatches">,
): Pick<WorkerOptions, "patchActivationCallback"> {
  return holdPatches ? { patchActivationCallback: () => false } : {};
}

function workflowSource(config: Config): Partial<WorkerOptions> {
  if (config.workflowBundle) return { workflowBundle: { codePath: config.workflowBundle } };
  return { workflowsPath: fileURLToPath(new URL("../workflows/mod.ts", import.meta.url)) };
}
