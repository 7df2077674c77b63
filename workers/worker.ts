/** The worker process: runs workflows and activities until it is stopped. */
import type { KubeConfig } from "@kubernetes/client-node";
import { Runtime, Worker } from "@temporalio/worker";
import { beginToWatch, rebootLocks } from "../activities/backends/registry.ts";
import { caOf } from "../activities/kube/client.ts";
import { ensureSearchAttributes } from "../activities/temporal/search_attributes.ts";
import { columnsOf } from "../workflows/commands/start_options.ts";
import { Claim } from "./claim.ts";
import { readClusterIdentity } from "./cluster_identity.ts";
import { clusterOf, openClusters } from "./clusters.ts";
import type { Config } from "./config.ts";
import { serveFleetLock } from "./fleet_lock.ts";
import { followAccess } from "./follow_access.ts";
import { serveHealth, type Serving } from "./health.ts";
import { createLogger } from "./logger.ts";
import { openMetrics } from "./metrics/open_metrics.ts";
import { requestsTold } from "./metrics/process_measures.ts";
import type { Metrics } from "./metrics/registry.ts";
import { freeLoopback, sdkMetrics } from "./metrics/sdk_metrics.ts";
import { type MetricsServer, serveMetrics } from "./metrics/serve_metrics.ts";
import { measurePolling } from "./metrics/serving_gauges.ts";
import { expectFailures, stepMeasures } from "./metrics/step_measures.ts";
import { cloudOpener } from "./open_cloud.ts";
import { runProcess } from "./run_process.ts";
import { serveWhileOurs } from "./serve_while_ours.ts";
import { stepLog } from "./telemetry/step_log.ts";
import { openTracing } from "./telemetry/tracing.ts";
import { accessOfProcess, LazyClient } from "./temporal_client.ts";
import { askTemporal } from "./temporal_trouble.ts";
import { workersOf } from "./worker_options.ts";
import { setTimeout } from "node:timers/promises";

/** Runs until `signal` aborts, and resolves when the work in progress has ended. */
export async function runWorker(
  config: Config,
  signal: AbortSignal,
  { serve = serveHealth }: Partial<Serving> = {},
): Promise<void> {
  const metrics = await openMetrics("worker", config);
  const tracing = await openTracing();
  const sdk = metrics && await freeLoopback();
  const log = installRuntime(config, sdk);
  const client = new LazyClient(config.temporal, accessOfProcess);
  let workers: Worker[] = [];
  const isReady = (): boolean => workers.length > 0 && workers.every((worker) => worker.getState() === "RUNNING");
  measurePolling(metrics, isReady);
  const health = serve({ ...config.healthProbeAddress, isReady });
  const scraped = metrics && serveMetrics(scrapeOf({ config, metrics, sdk, log }));
  const clusters = openClusters(config, { log, requests: requestsTold(metrics) });
  const joinTimeoutMs = config.joinClusterTimeout * 1000;
  const kube = clusterOf(clusters, config, { cloud: cloudOpener(config), joinTimeoutMs });
  const locks = serveFleetLock({
    ...config.fleetLockAddress,
    locks: rebootLocks(kube),
    log,
    count: lockCounter(metrics),
  });
  const options = workersOf(config, {
    kube,
    clusterCa: () => caOf(clusters.pools),
    ...(metrics ? { measures: stepMeasures(metrics) } : {}),
    steps: [stepLog, ...(tracing ? [tracing.steps] : [])],
  });
  expectFailures(metrics, Object.keys(options[0]?.activities ?? {}));
  const claim = claiming(config, { client, kubeConfig: clusters.pools, log });
  const ended = new AbortController();
  const following = AbortSignal.any([signal, ended.signal]);
  void followAccess(client, { server: config.temporal, workers: () => workers, log, signal: following });
  try {
    await serveWhileOurs({ claim, log, signal }, async (serving) => {
      const connection = await client.connection();
      beginToWatch(kube);
      workers = await askTemporal(
        config.temporal,
        () => Promise.all(options.map((each) => Worker.create({ ...each, connection }))),
      );
      await runUntil(workers, serving);
      workers = [];
    });
  } finally {
    ended.abort();
    health?.close();
    scraped?.close();
    locks?.close();
    locks?.closeAllConnections();
    // A failed worker that does not end still holds the connection, so `close` fails; only the failure of the worker is
    // thrown.
    await client.close().catch(() => undefined);
  }
}

function lockCounter(metrics: Metrics | undefined): (outcome: string) => void {
  return (outcome) => metrics?.add("ostler_fleet_lock_requests_total", { outcome });
}

type Log = ReturnType<typeof createLogger>;

function scrapeOf(
  { config, metrics, sdk, log }: { config: Config; metrics: Metrics; sdk: string | undefined; log: Log },
): MetricsServer {
  const more = sdk === undefined ? {} : { more: () => sdkMetrics(sdk) };
  return { address: config.metricsAddress, metrics, log, ...more };
}

function installRuntime(config: Config, sdk: string | undefined): Log {
  const logger = createLogger(config.logLevel);
  const metrics = sdk === undefined ? {} : { metrics: { prometheus: { bindAddress: sdk } } };
  // The process handles signals itself: the runtime would stop running workers, but not those that are being created.
  Runtime.install({ logger, telemetryOptions: metrics, shutdownSignals: [] });
  return logger;
}

function claiming(
  config: Config,
  { client, kubeConfig, log }: { client: LazyClient; kubeConfig: KubeConfig; log: Log },
): () => Promise<void> {
  const { temporal: { namespace }, cluster } = config;
  const claim = new Claim(config);
  let isPrepared = false;
  const prepare = async (): Promise<void> => {
    const connection = await client.connection();
    // A worker makes the same request when it is created, but its failure there would end the process.
    await connection.workflowService.describeNamespace({ namespace });
    await ensureSearchAttributes(connection, { namespace, columns: columnsOf(cluster) });
    isPrepared = true;
  };
  return async () => {
    if (!isPrepared) await askTemporal(config.temporal, prepare);
    const self = await readClusterIdentity(kubeConfig, config, log);
    await askTemporal(config.temporal, async () => await claim.hold(await client.get(), self));
  };
}

/** Runs all workers until `signal` aborts, or one of them fails. */
async function runUntil(workers: Worker[], signal: AbortSignal): Promise<void> {
  const stop = (): void => workers.filter((each) => each.getState() === "RUNNING").forEach((each) => each.shutdown());
  const runs = workers.map((worker) => worker.run().finally(stop));
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const done = new AbortController();
  try {
    const ended = await Promise.race([Promise.allSettled(runs), throwOnceFailed(workers, done.signal)]);
    const failed = ended.find((each) => each.status === "rejected");
    if (failed) throw failed.reason;
  } finally {
    done.abort();
  }
}

// A worker that Temporal refuses for a minute fails, and may never end, because the SDK (1.24) waits forever for its
// unfinished tasks. The process would stay up without being ready, so it exits and is restarted.

/** Milliseconds between checks, and the time for a failed worker to end by itself. */
const failurePauses = { look: 1_000, grace: 5_000 };

interface Stateful {
  getState(): string;
}

/** Throws `grace` milliseconds after a worker has failed; otherwise rejects only when `signal` aborts. */
export async function throwOnceFailed(
  workers: Stateful[],
  signal: AbortSignal,
  { look, grace } = failurePauses,
): Promise<never> {
  while (!workers.some((each) => each.getState() === "FAILED")) await setTimeout(look, undefined, { signal });
  await setTimeout(grace, undefined, { signal });
  throw new Error("Stopping: Temporal has refused the workers for a minute");
}

if (import.meta.main) await runProcess(runWorker);
