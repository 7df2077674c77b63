/** Controller, worker and webhook in one process, for a small cluster: where one of them ends, all do. */
import type { Config } from "./config.ts";
import { runController } from "./controller.ts";
import { type Health, serveHealth, type Serving } from "./health.ts";
import { runProcess } from "./run_process.ts";
import { runWebhook } from "./webhook.ts";
import { runWorker } from "./worker.ts";

/** Runs until `signal` aborts; says by `serve`, as soon as it has what must be there first, how one learns that it is ready. */
export type Part = (config: Config, signal: AbortSignal, serving: Serving) => Promise<void>;

/** By name. The worker first: it installs the runtime by which all of them reach Temporal. */
const parts: Readonly<Record<string, Part>> = { worker: runWorker, controller: runController, webhook: runWebhook };

/**
 * Runs all until `signal` aborts, and resolves when the last has ended. The first that ends unasked ends the others; what
 * it failed with is thrown when they have. Each has the next port for its metrics, and says by its name whether it is ready:
 * a Service of the webhook must not lose it because Temporal is away.
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

/** One address serves the metrics of one; port 0 serves none. */
function withMetricsPort(config: Config, at: number): Config {
  const { metricsAddress } = config;
  if (metricsAddress.port === 0) return config;
  return { ...config, metricsAddress: { ...metricsAddress, port: metricsAddress.port + at } };
}

/** Runs all three until `signal` aborts. */
export async function runAll(config: Config, signal: AbortSignal): Promise<void> {
  await runTogether(parts, config, signal);
}

if (import.meta.main) await runProcess(runAll);
