/** Begins to measure a process, where its settings ask for it. */
import type { Config } from "../config.ts";
import { measureProcess } from "./process_measures.ts";
import { createMetrics, type Metrics } from "./registry.ts";
import type { Measured } from "./table.ts";

/** The metrics of a process; undefined where nobody is to see them, and then nothing is loaded for them. */
export async function openMetrics(
  kind: Measured,
  { metricsAddress, buildId }: Pick<Config, "metricsAddress" | "buildId">,
): Promise<Metrics | undefined> {
  if (metricsAddress.port === 0) return undefined;
  const metrics = await createMetrics(kind);
  measureProcess(metrics, { kind, version: buildId });
  return metrics;
}
