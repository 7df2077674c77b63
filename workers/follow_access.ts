/**
 * Keeps a process let in while certificates, keys and API keys change in their files. A changed one opens another
 * connection beside the one that there is, and workers move over in the midst of their work; one that does not let us in
 * changes nothing. Files are looked at, not watched: what kubelet mounts are links, which it exchanges as a whole.
 */
import type { Logger } from "@temporalio/common";
import type { NativeConnection, Worker } from "@temporalio/worker";
import { setTimeout } from "node:timers/promises";
import type { TemporalServer } from "../activities/temporal/temporal_server.ts";
import type { LazyClient } from "./temporal_client.ts";
import { askTemporal } from "./temporal_trouble.ts";

/** Milliseconds between looks; kubelet itself takes up to two minutes to bring a change. */
const lookEvery = 10_000;

/** A worker, as far as it is asked here. */
export type Connected = Pick<Worker, "getState" | "connection">;

export interface FollowDeps {
  server: TemporalServer;
  /** Those that are at work now, which keep the connection that they were given. */
  workers: () => Connected[];
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  lookEvery?: number;
}

/** Follows what lets us in until `signal` aborts; never fails. */
export async function followAccess(client: Pick<LazyClient, "renew" | "connection">, deps: FollowDeps): Promise<void> {
  const { server, log, signal } = deps;
  let said = "";
  while (!signal.aborted) {
    // Aborting ends the rest early; nothing else can be thrown.
    await setTimeout(deps.lookEvery ?? lookEvery, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const outcome = await askTemporal(server, () => client.renew());
      // At each look, as a worker may have begun with the connection of before.
      if (outcome !== "NeverOpened") move(deps.workers(), await client.connection());
      if (outcome === "Renewed") log.info("Connected to Temporal with reloaded credentials");
      said = "";
    } catch (error) {
      const { message } = error as Error;
      if (message !== said) log.warn(`${kept}: ${message}`);
      said = message;
    }
  }
}

function move(workers: Connected[], connection: NativeConnection): void {
  for (const worker of workers) if (!/STOPPED|FAILED/.test(worker.getState())) worker.connection = connection;
}

const kept = "Failed to reload Temporal credentials; keeping the current connection";
