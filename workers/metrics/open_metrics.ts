/** Opens the metrics of a process, if enabled. */
import type { Config } from "../config.ts";
import { measureProcess } from "./process_measures.ts";
import { createMetrics, type Metrics } from "./registry.ts";
import type { Measured } from "./table.ts";

/** Returns the metrics of a process; undefined if disabled, and then no library is loaded. */
export async function openMetrics(
  kind: Measured,
  { metricsAddress, buildId }: Pick<Config, "metricsAddress" | "buildId">,
): Promise<Metrics | undefined> {
  if (metricsAddress.port === 0) return undefined;
  const metrics = await createMetrics(kind);
  measureProcess(metrics, { kind, version: buildId });
  return metrics;
}
