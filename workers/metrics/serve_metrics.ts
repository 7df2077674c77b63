/** Serves metrics over HTTP in the format of Prometheus. */
import type { Logger } from "@temporalio/common";
import { createServer, type Server } from "node:http";
import type { ListenAddress } from "../process_settings.ts";
import type { Metrics } from "./registry.ts";

export interface MetricsServer {
  address: ListenAddress;
  metrics: Metrics;
  /** Returns metrics that are appended: those of the SDK, on a worker. */
  more?: () => Promise<string>;
  log: Pick<Logger, "error" | "warn">;
}

/** Serves /metrics. If the address is in use, logs that and serves nothing: rollouts matter more than their metrics. */
export function serveMetrics({ address: { host, port }, metrics, more, log }: MetricsServer): Server {
  const server = createServer((request, response) => {
    if (URL.parse(request.url ?? "/", "http://metrics")?.pathname !== "/metrics") {
      return void response.writeHead(404).end();
    }
    void scrape().then(
      ({ text, contentType }) => response.writeHead(200, { "content-type": contentType }).end(text),
      (error: unknown) => {
        log.error("Failed to write metrics", { error });
        response.writeHead(500).end();
      },
    );
  });
  server.on("error", (error) => log.error(`Failed to serve metrics on "${host}:${port}"`, { error }));
  return server.listen(port, host);

  async function scrape(): Promise<{ text: string; contentType: string }> {
    const [ours, theirs] = await Promise.all([metrics.scrape(), more?.().catch(note)]);
    return { ...ours, text: `${ours.text}${theirs ?? ""}` };
  }

  function note(error: unknown): string {
    log.warn("Failed to read the metrics of Temporal's SDK", { error });
    return "";
  }
}
