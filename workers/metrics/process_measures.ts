/** Metrics of every process about itself, and about its requests to the API server. */
import process from "node:process";
import type { RequestsTold } from "../../activities/kube/paced_http.ts";
import type { Metrics } from "./registry.ts";
import type { Measured } from "./table.ts";

/** Sets the metrics of this process. */
export function measureProcess(metrics: Metrics, { kind, version }: { kind: Measured; version: string }): void {
  metrics.set("ostler_build_info", 1, { process: kind, version });
  metrics.set("process_start_time_seconds", Math.round(Date.now() / 1000 - process.uptime()));
  metrics.onScrape(() => {
    const { user, system } = process.cpuUsage();
    metrics.setTotal("process_cpu_seconds_total", (user + system) / 1e6);
    metrics.set("process_resident_memory_bytes", process.memoryUsage().rss);
  });
}

/** Returns a function that counts requests to the API server; undefined without metrics. */
export function requestsTold(metrics: Metrics | undefined): RequestsTold | undefined {
  if (!metrics) return undefined;
  return ({ verb, resource, code, seconds }) => {
    metrics.add("ostler_api_requests_total", { verb, resource, code: `${code}` });
    metrics.observe("ostler_api_request_duration_seconds", seconds, { verb });
  };
}
