import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { allOf, httpProbe } from "../process/http_probe.ts";
import { startOnFreePorts } from "../process/start_on_free_ports.ts";
import type { ProcessSpec } from "../process/supervised_process.ts";
import type { Supervisor } from "../process/supervisor.ts";

/** The Temporal server of a stack. */
export interface TemporalServer {
  /** `host:port` of the gRPC front end. */
  readonly address: string;
  /** URL of the web UI; empty if the server has none. */
  readonly uiUrl: string;
  readonly namespace: string;
}

/** The types of search attributes that a server can create at its start. */
export type SearchAttributeKind = "Text" | "Keyword" | "Int" | "Double" | "Bool" | "Datetime" | "KeywordList";

interface TemporalServerOptions {
  readonly supervisor: Supervisor;
  readonly command: string;
  readonly directory: string;
  readonly searchAttributes?: Readonly<Record<string, SearchAttributeKind>>;
  readonly signal?: AbortSignal;
}

const namespace = "default";

/** Starts Temporal's dev server on an SQLite file and resolves when namespace and web UI respond. */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  await mkdir(join(options.directory, "temporal"), { recursive: true, mode: 0o700 });
  const { ports } = await startOnFreePorts(options.supervisor, {
    ports: ["grpc", "http", "ui", "metrics"],
    spec: (ports) => temporalSpec(options, ports),
  }, options.signal);
  return { address: `127.0.0.1:${ports.grpc}`, uiUrl: `http://127.0.0.1:${ports.ui}`, namespace };
}

function temporalSpec(
  { command, directory, searchAttributes = {} }: TemporalServerOptions,
  ports: Readonly<Record<"grpc" | "http" | "ui" | "metrics", number>>,
): ProcessSpec {
  return {
    name: "temporal",
    command,
    args: [
      "server",
      "start-dev",
      "--ip=127.0.0.1",
      `--port=${ports.grpc}`,
      `--http-port=${ports.http}`,
      `--ui-port=${ports.ui}`,
      `--metrics-port=${ports.metrics}`,
      `--db-filename=${join(directory, "temporal", "temporal.db")}`,
      "--sqlite-pragma=journal_mode=wal",
      "--sqlite-pragma=synchronous=off",
      "--log-level=warn",
      ...Object.entries(searchAttributes).map(([name, kind]) => `--search-attribute=${name}=${kind}`),
    ],
    ready: allOf(
      httpProbe({ url: `http://127.0.0.1:${ports.http}/api/v1/namespaces/${namespace}` }),
      httpProbe({ url: `http://127.0.0.1:${ports.ui}/` }),
    ),
  };
}
