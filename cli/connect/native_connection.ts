/**
 * Connects to Temporal with the native client of its SDK, because Deno's HTTP/2 loses idle connections (see
 * workers/temporal_client.ts).
 */
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

/** Milliseconds to connect: behind a firewall that drops packets, the SDK would wait two minutes. */
const patienceMs = 5_000;

let runtime: Runtime | undefined;

/**
 * Installs the native runtime for commands, once. The default runtime takes SIGINT and SIGTERM without ending the
 * process, and writes warnings to standard output, where they break JSON and a live view.
 */
export function quietRuntime(): Runtime {
  return runtime ??= Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger("ERROR"),
    telemetryOptions: { logging: { filter: "OFF" } },
  });
}

/** Connects to the frontend of Temporal; throws Unreachable if it does not answer within five seconds. */
export async function connectServer({ address, access }: TemporalServer): Promise<NativeConnection> {
  quietRuntime();
  return await inTime(address, NativeConnection.connect({ address, ...access }));
}

/** Returns whether the frontend describes the namespace to a client without credentials; false if the request fails. */
export async function asksNobody({ address, namespace, access: { tls } }: TemporalServer): Promise<boolean> {
  const { clientCertPair: _, ...open } = typeof tls === "object" && tls !== null ? tls : {};
  const known = typeof tls === "object" && tls !== null ? { tls: open } : tls === undefined ? {} : { tls };
  try {
    quietRuntime();
    const connection = await inTime(address, NativeConnection.connect({ address, ...known }));
    try {
      const ask = (): Promise<unknown> => connection.workflowService.describeNamespace({ namespace });
      await connection.withDeadline(Date.now() + patienceMs, ask);
      return true;
    } finally {
      await connection.close();
    }
  } catch {
    return false;
  }
}

/** Connects to Temporal and returns an engine for rollouts; throws Unreachable if Temporal does not answer. */
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

/**
 * Returns the connection, or throws Unreachable after the time limit; a late attempt cannot be cancelled and ends with
 * the process.
 */
export async function inTime<T>(address: string, connecting: Promise<T>, withinMs = patienceMs): Promise<T> {
  const settled = new AbortController();
  const late = setTimeout(withinMs, undefined, { signal: settled.signal }).then(() => {
    throw new Error(`no answer within ${withinMs / 1000} s`);
  });
  try {
    return await Promise.race([connecting, late]);
  } catch (error) {
    throw new Unreachable(`Failed to reach Temporal at ${address}: ${transportReason(error)}`);
  } finally {
    settled.abort();
  }
}
