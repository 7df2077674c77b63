/** The worker process: runs workflows and activities until it is told to stop. */
import { NativeConnection, Runtime, Worker } from "@temporalio/worker";
import type { WorkerOptions } from "@temporalio/worker";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createActivities } from "../activities/mod.ts";
import { caOf, connectKube, loadKubeConfig } from "../activities/kube/client.ts";
import { HttpsWatch } from "../activities/kube/https_watch.ts";
import { forecast } from "../workflows/policy/forecast.ts";
import { type Config, rateOf } from "./config.ts";
import { serveHealth } from "./health.ts";
import { createLogger } from "./logger.ts";
import { ensureSearchAttributes } from "./search_attributes.ts";
import { settingsOfProcess } from "./settings_of_process.ts";

/** Starts a worker and resolves when it has drained after SIGTERM or SIGINT. */
export async function runWorker(config: Config): Promise<void> {
  installRuntime(config);
  const connection = await NativeConnection.connect({ address: config.temporalAddress });
  await ensureSearchAttributes(connection, config.temporalNamespace);
  const worker = await Worker.create({ ...workerOptions(config), connection });
  const health = serveHealth({ ...config.healthProbeAddress, isReady: () => worker.getState() === "RUNNING" });
  try {
    await worker.run();
  } finally {
    health?.close();
    await connection.close();
  }
}

function installRuntime(config: Config): void {
  const metrics = config.metricsAddress ? { metrics: { prometheus: { bindAddress: config.metricsAddress } } } : {};
  Runtime.install({ logger: createLogger(config.logLevel), telemetryOptions: metrics });
}

function workerOptions(config: Config): WorkerOptions {
  const kubeConfig = loadKubeConfig(config.kubeconfig, rateOf(config));
  const activities = createActivities({
    kube: { ...connectKube(kubeConfig), watch: new HttpsWatch(kubeConfig) },
    clusterCa: caOf(kubeConfig),
    environment: process.env,
    profileNamespace: config.namespace,
    credentialSeconds: config.credentialSeconds,
    settings: config.node,
    forecast,
  });
  return {
    ...workflowSource(config),
    activities,
    namespace: config.temporalNamespace,
    taskQueue: config.taskQueue,
    ...(config.identity ? { identity: config.identity } : {}),
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
  if (config.workflowBundle) return { workflowBundle: { codePath: config.workflowBundle } };
  return { workflowsPath: fileURLToPath(new URL("../workflows/mod.ts", import.meta.url)) };
}

if (import.meta.main) {
  await runWorker(settingsOfProcess());
  process.exit(0);
}
