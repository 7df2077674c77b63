/** Liveness and readiness of a process over HTTP. */
import { createServer } from "node:http";
import type { Server } from "node:http";

export interface Health {
  host: string;
  /** 0 serves nothing. */
  port: number;
  /** The process does its work; asked at each probe. */
  isReady: () => boolean;
}

/** How a process tells that it is ready: over HTTP, unless several are one. */
export interface Serving {
  serve: typeof serveHealth;
}

/** Serves /healthz and /readyz. */
export function serveHealth({ host, port, isReady }: Health): Server | undefined {
  if (port === 0) return undefined;
  const server = createServer((request, response) => {
    // Answering at all shows that the event loop turns: that is what liveness means here.
    const ok = request.url === "/healthz" || (request.url === "/readyz" && isReady());
    response.writeHead(ok ? 200 : request.url === "/readyz" ? 503 : 404).end();
  });
  return server.listen(port, host);
}
