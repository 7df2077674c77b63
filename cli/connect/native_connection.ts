/** The engine over Temporal's native connection: Deno's own HTTP/2 dies of an idle one (see workers/temporal_client.ts). */
import { setTimeout } from "node:timers/promises";
import { Client, QueryRejectCondition } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker/lib/connection.js";
import { DefaultLogger } from "@temporalio/worker/lib/logger.js";
import { Runtime } from "@temporalio/worker/lib/runtime.js";
import type { TemporalServer } from "../../activities/temporal/temporal_server.ts";
import { Unreachable } from "../failure.ts";
import type { Engine, EngineOptions } from "./engine.ts";
import { engineOf } from "./temporal_engine.ts";
import { transportReason } from "./temporal_failure.ts";

/** A firewall that drops packets keeps the SDK waiting for two minutes, and a person as long. */
const patienceMs = 5_000;

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
export async function connectServer({ address, access }: TemporalServer): Promise<NativeConnection> {
  quietRuntime();
  return await inTime(address, NativeConnection.connect({ address, ...access }));
}

/** The engine of rollouts; fails with exit code 4 when nothing answers. */
export async function connectEngine(options: EngineOptions): Promise<Engine & { close(): Promise<void> }> {
  const { namespace } = options;
  const connection = await connectServer(options);
  const client = new Client({
    connection,
    namespace,
    workflow: { queryRejectCondition: QueryRejectCondition.NOT_OPEN },
  });
  return { ...engineOf(client, options), close: () => connection.close() };
}

/** What connects, unless it takes longer than anybody waits: nothing can call it off, so it goes on until the process ends. */
export async function inTime<T>(address: string, connecting: Promise<T>, withinMs = patienceMs): Promise<T> {
  const settled = new AbortController();
  const late = setTimeout(withinMs, undefined, { signal: settled.signal }).then(() => {
    throw new Error(`no answer in ${withinMs / 1000} seconds`);
  });
  try {
    return await Promise.race([connecting, late]);
  } catch (error) {
    throw new Unreachable(`Cannot reach Temporal at ${address}: ${transportReason(error)}`);
  } finally {
    settled.abort();
  }
}
