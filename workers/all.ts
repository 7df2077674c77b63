/** Controller, worker and webhook in one process, for a small cluster: when one of them ends, all end. */
import type { Config } from "./config.ts";
import { runController } from "./controller.ts";
import { type Health, serveHealth, type Serving } from "./health.ts";
import { runProcess } from "./run_process.ts";
import { runWebhook } from "./webhook.ts";
import { runWorker } from "./worker.ts";

/** Runs one part until `signal` aborts; calls `serve` with its readiness once the next part may start. */
export type Part = (config: Config, signal: AbortSignal, serving: Serving) => Promise<void>;

/** The parts by name; the worker is first, because it installs the runtime that all of them use to reach Temporal. */
const parts: Readonly<Record<string, Part>> = { worker: runWorker, controller: runController, webhook: runWebhook };

/**
 * Runs all parts until `signal` aborts, and resolves when the last has ended. A part that ends by itself ends the
 * others, and its failure is thrown afterwards. Each part has its own port for metrics. The readiness of each part has
 * its own path, so that the Service of the webhook keeps selecting the process while Temporal is unreachable.
 */
export async function runTogether(
  running: Readonly<Record<string, Part>>,
  config: Config,
  signal: AbortSignal,
): Promise<void> {
  const end = new AbortController();
  const ending = AbortSignal.any([signal, end.signal]);
  const readiness = new Map<string, Health["isReady"]>(Object.keys(running).map((name) => [name, () => false]));
  const isReady = (): boolean => [...readiness.values()].every((isOne) => isOne());
  const health = serveHealth({ ...config.healthProbeAddress, isReady, parts: readiness });
  const failures: unknown[] = [];
  const runs: Promise<void>[] = [];
  for (const [at, [name, run]] of Object.entries(running).entries()) {
    if (ending.aborted) break;
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const serve = (part: Health): undefined => void (readiness.set(name, part.isReady), begin());
    const ran = run(withMetricsPort(config, at), ending, { serve }).catch((error) => void failures.push(error));
    runs.push(ran.finally(() => end.abort()));
    await Promise.race([begun, ran]);
  }
  await Promise.all(runs);
  health?.close();
  if (failures.length > 0) throw failures[0];
}

/**
 * Gives each part its own port for metrics, because one address serves the metrics of only one part; metrics stay
 * disabled if the port is 0.
 */
function withMetricsPort(config: Config, at: number): Config {
  const { metricsAddress } = config;
  if (metricsAddress.port === 0) return config;
  return { ...config, metricsAddress: { ...metricsAddress, port: metricsAddress.port + at } };
}

/** Runs the three parts until `signal` aborts. */
export async function runAll(config: Config, signal: AbortSignal): Promise<void> {
  await runTogether(parts, config, signal);
}

if (import.meta.main) await runProcess(runAll);
