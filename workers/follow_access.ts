/**
 * Reconnects to Temporal when certificates, keys or API keys change in their files. A change opens another connection,
 * to which running workers move; if that connection is refused, the current one stays. Files are read periodically, not
 * watched, because kubelet mounts them as links, which it replaces as a whole.
 */
import type { Logger } from "@temporalio/common";
import type { NativeConnection, Worker } from "@temporalio/worker";
import { setTimeout } from "node:timers/promises";
import type { TemporalServer } from "../activities/temporal/temporal_server.ts";
import type { LazyClient } from "./temporal_client.ts";
import { askTemporal } from "./temporal_trouble.ts";

/** Milliseconds between reads; kubelet itself takes up to two minutes to update a file. */
const lookEvery = 10_000;

/** The part of a worker that is used here. */
export type Connected = Pick<Worker, "getState" | "connection">;

interface FollowDeps {
  server: TemporalServer;
  /** The running workers, each of which keeps its connection until moved. */
  workers: () => Connected[];
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  lookEvery?: number;
}

/** Follows changes of credentials until `signal` aborts; never throws. */
export async function followAccess(client: Pick<LazyClient, "renew" | "connection">, deps: FollowDeps): Promise<void> {
  const { server, log, signal } = deps;
  let said = "";
  while (!signal.aborted) {
    // The promise rejects only when the signal aborts, which ends the pause early.
    await setTimeout(deps.lookEvery ?? lookEvery, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const outcome = await askTemporal(server, () => client.renew());
      // Workers move even if nothing was renewed, because a worker may have started with the previous connection.
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
