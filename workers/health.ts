/** Liveness and readiness of a process over HTTP. */
import { createServer } from "node:http";
import type { Server } from "node:http";

export interface Health {
  host: string;
  /** 0 serves nothing. */
  port: number;
  /** The process does its work; asked at each probe. */
  isReady: () => boolean;
  /** The same of each of several that are one process, by name: one may do its work while another waits. */
  parts?: ReadonlyMap<string, () => boolean>;
}

/** How a process tells that it is ready: over HTTP, unless several are one. */
export interface Serving {
  serve: typeof serveHealth;
}

/** Serves /healthz and /readyz, and /readyz/NAME of each part. */
export function serveHealth({ host, port, isReady, parts = new Map() }: Health): Server | undefined {
  if (port === 0) return undefined;
  const server = createServer(({ url = "" }, response) => {
    // Answering at all shows that the event loop turns: that is what liveness means here.
    const look = url === "/readyz" ? isReady : parts.get(url.replace(/^\/readyz\//, ""));
    const isOk = url === "/healthz" || look?.();
    response.writeHead(isOk === undefined ? 404 : isOk ? 200 : 503).end();
  });
  return server.listen(port, host);
}
