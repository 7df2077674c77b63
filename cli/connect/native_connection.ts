/** The engine over Temporal's native connection: Deno's own HTTP/2 dies of an idle one (see workers/temporal_client.ts). */
import { Client, QueryRejectCondition } from "@temporalio/client";
import { DefaultLogger, NativeConnection, Runtime } from "@temporalio/worker";
import { Unreachable } from "../failure.ts";
import type { Engine, EngineOptions } from "./engine.ts";
import { engineOf } from "./temporal_engine.ts";
import { transportReason } from "./temporal_failure.ts";

let runtime: Runtime | undefined;

/**
 * Installs the native runtime as a command needs it, once: by itself it takes SIGINT and SIGTERM, which without a worker
 * end nothing, and writes warnings to standard output, where they break JSON and a live frame.
 */
export function quietRuntime(): Runtime {
  return runtime ??= Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger("ERROR"),
    telemetryOptions: { logging: { filter: "OFF" } },
  });
}

/** Connects; fails with exit code 4 when nothing answers. */
export async function connectEngine(options: EngineOptions): Promise<Engine & { close(): Promise<void> }> {
  const { address, namespace } = options;
  quietRuntime();
  const connection = await NativeConnection.connect({ address }).catch((error: unknown) => {
    throw new Unreachable(`Cannot reach Temporal at ${address}: ${transportReason(error)}`);
  });
  const client = new Client({
    connection,
    namespace,
    workflow: { queryRejectCondition: QueryRejectCondition.NOT_OPEN },
  });
  return { ...engineOf(client, options), close: () => connection.close() };
}
