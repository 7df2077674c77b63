/** The worker process: runs workflows and activities until it is told to stop. */
import { NativeConnection, Runtime, Worker } from "@temporalio/worker";
import type { WorkerOptions } from "@temporalio/worker";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createActivities } from "../activities/mod.ts";
import type { NodeSettings } from "../activities/config/render_config.ts";
import { connectKube, loadKubeConfig } from "../activities/kube/client.ts";
import { healthPlace, readConfig } from "./config.ts";
import type { Config } from "./config.ts";
import { serveHealth } from "./health.ts";
import { createLogger } from "./logger.ts";
import { ensureSearchAttributes } from "./search_attributes.ts";

/** Starts a worker and resolves when it has drained after SIGTERM or SIGINT. */
export async function runWorker(config: Config): Promise<void> {
  installRuntime(config);
  const connection = await NativeConnection.connect({ address: config.TEMPORAL_ADDRESS });
  await ensureSearchAttributes(connection, config.TEMPORAL_NAMESPACE);
  const worker = await Worker.create({ ...workerOptions(config), connection });
  const health = serveHealth({ ...healthPlace(config), isReady: () => worker.getState() === "RUNNING" });
  try {
    await worker.run();
  } finally {
    health?.close();
    await connection.close();
  }
}

function installRuntime(config: Config): void {
  const metrics = config.OSTLER_METRICS_ADDRESS
    ? { metrics: { prometheus: { bindAddress: config.OSTLER_METRICS_ADDRESS } } }
    : {};
  Runtime.install({ logger: createLogger(config.OSTLER_LOG_LEVEL), telemetryOptions: metrics });
}

function workerOptions(config: Config): WorkerOptions {
  const activities = createActivities({
    kube: connectKube(loadKubeConfig(config.KUBECONFIG)),
    profileNamespace: config.OSTLER_NAMESPACE,
    credentialSeconds: config.OSTLER_CREDENTIAL_SECONDS,
    settings: nodeSettings(config),
  });
  return {
    ...workflowSource(config),
    activities,
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue: config.OSTLER_TASK_QUEUE,
    ...(config.OSTLER_IDENTITY ? { identity: config.OSTLER_IDENTITY } : {}),
    // Waits use neither CPU nor memory: a fixed number is honest, and each machine under way needs one.
    maxConcurrentActivityTaskExecutions: 1000,
    maxCachedWorkflows: 200,
    stickyQueueScheduleToStartTimeout: "2s",
    maxHeartbeatThrottleInterval: "3s",
    defaultHeartbeatThrottleInterval: "3s",
    shutdownGraceTime: "25s",
    shutdownForceTime: "50s",
  };
}

function workflowSource(config: Config): Partial<WorkerOptions> {
  if (config.OSTLER_WORKFLOW_BUNDLE) return { workflowBundle: { codePath: config.OSTLER_WORKFLOW_BUNDLE } };
  return { workflowsPath: fileURLToPath(new URL("../workflows/mod.ts", import.meta.url)) };
}

function nodeSettings(config: Config): NodeSettings {
  return {
    clusterDns: config.OSTLER_CLUSTER_DNS,
    clusterDomain: config.OSTLER_CLUSTER_DOMAIN,
    externalCloudProvider: config.OSTLER_EXTERNAL_CLOUD_PROVIDER,
    initialTaints: config.OSTLER_INITIAL_TAINTS,
    httpProxy: config.OSTLER_NODE_HTTP_PROXY,
    noProxy: config.OSTLER_NODE_NO_PROXY,
    pauseImage: config.OSTLER_PAUSE_IMAGE,
    binariesUrl: config.OSTLER_BINARIES_URL,
  };
}

if (import.meta.main) {
  await runWorker(readConfig(process.env));
  process.exit(0);
}
