/** Liveness and readiness of a process over HTTP. */
import { createServer } from "node:http";
import type { Server } from "node:http";

export interface Health {
  host: string;
  /** 0 disables the server. */
  port: number;
  /** Whether the process does its work; called at each probe. */
  isReady: () => boolean;
  /** Explains the readiness in words, such as what is missing; "" if there is nothing to explain. */
  detail?: () => string;
  /** The readiness of each part by name, for several parts in one process: one may work while another waits. */
  parts?: ReadonlyMap<string, () => boolean>;
}

/** Publishes readiness: over HTTP, or, for a part of a process with several parts, through that process. */
export interface Serving {
  serve: typeof serveHealth;
}

/** Serves /healthz and /readyz, and /readyz/NAME of each part; returns undefined if the port is 0. */
export function serveHealth({ host, port, isReady, detail = () => "", parts = new Map() }: Health): Server | undefined {
  if (port === 0) return undefined;
  const server = createServer(({ url = "" }, response) => {
    // /healthz checks nothing: any answer proves that the event loop runs, and liveness here means no more than that.
    const look = url === "/readyz" ? isReady : parts.get(url.replace(/^\/readyz\//, ""));
    const isOk = url === "/healthz" || look?.();
    response.writeHead(isOk === undefined ? 404 : isOk ? 200 : 503).end(url === "/readyz" ? detail() : "");
  });
  return server.listen(port, host);
}
