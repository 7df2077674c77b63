import { Client } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";
import { startObserver } from "../observer/observer.ts";
import type { Site } from "../site/site.ts";
import { ApiConnection } from "../stack/api_connection.ts";
import { FleetWatch } from "./fleet_watch.ts";
import type { Narrator } from "./narrator.ts";
import { pool } from "./pool_objects.ts";
import { Runs } from "./runs.ts";
import type { Scene } from "./scene.ts";
import type { Waits } from "./waits.ts";

/**
 * The input of `setScene`: the running cluster with Ostler (`site`), the output and the waits of the demo, and the size
 * of the pool.
 */
export interface Setting {
  readonly narrator: Narrator;
  readonly waits: Waits;
  readonly site: Site;
  readonly replicas: number;
  /** Number of machines above `replicas` during a rollout; default 1. */
  readonly surge?: number;
  /** Whether the rollout may stay halted; otherwise a halt that lasts 15 s ends the demo. */
  readonly mayHalt?: boolean;
  /** Temporal's namespace of the rollouts; by default, the namespace that the server has at its start. */
  readonly namespace?: string;
}

/** Opens the connections and watches of a scene; disposing of `props` ends them. */
export async function setScene(props: AsyncDisposableStack, setting: Setting): Promise<Scene> {
  const { narrator, waits, site, replicas, surge = 1, mayHalt = false } = setting;
  const { adminKubeconfig, temporal } = site.stack;
  const api = props.use(await ApiConnection.open(adminKubeconfig));
  // A native connection, because Deno 2.9 crashes when the server closes an idle connection of Deno's own HTTP/2 client
  // (github.com/denoland/deno/issues/36788).
  const connection = await NativeConnection.connect({ address: temporal.address });
  props.defer(() => connection.close());
  const client = new Client({ connection, namespace: setting.namespace ?? temporal.namespace });
  const runs = await Runs.open(client);
  props.defer(() => runs.stop());
  const watched = { kubeconfig: adminKubeconfig, namespace: pool.namespace, pool: pool.name, replicas, surge };
  const observer = await startObserver(watched);
  props.defer(async () => void await observer.stop());
  const fleet = new FleetWatch({ api, cloud: site.cloud, client, narrator, waits, mayHalt });
  props.defer(() => fleet.stop());
  return { narrator, waits, site, api, client, observer, fleet, runs };
}
