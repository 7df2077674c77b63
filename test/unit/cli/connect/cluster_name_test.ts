import { deepEqual, equal, throws } from "node:assert/strict";
import type { Client } from "@temporalio/client";
import { clusterNameOf } from "../../../../cli/connect/cluster_name.ts";
import { engineOf } from "../../../../cli/connect/temporal_engine.ts";
import { poolRow } from "../../../../cli/rollout/pool_row.ts";
import { UsageError } from "../../../../cli/usage_error.ts";
import type { Terminal } from "../../../../cli/terminal.ts";

const pool = { namespace: "fleet", name: "pool" };

function named(env: Record<string, string>, options: { cluster?: string } = {}): string {
  return clusterNameOf({ env } as unknown as Terminal, options);
}

Deno.test("cluster name: comes from --cluster, then OSTLER_CLUSTER, and is empty by default", () => {
  equal(named({ OSTLER_CLUSTER: "south" }, { cluster: "north" }), "north");
  equal(named({ OSTLER_CLUSTER: "south" }), "south");
  equal(named({}), "");
  throws(() => named({}, { cluster: "North/1" }), UsageError);
});

Deno.test("engine: finds the runs of the named cluster", async () => {
  const asked: string[] = [];
  const handle = { query: () => Promise.resolve({}) };
  const workflow = { getHandle: (id: string) => (asked.push(id), handle) };
  const client = { workflow, withDeadline: (_: unknown, work: () => unknown) => work() } as unknown as Client;
  const options = { address: "there", namespace: "default", access: {}, uid: () => Promise.resolve("") };
  await engineOf(client, { ...options, cluster: "north" }).progress(pool);
  await engineOf(client, { ...options, cluster: "" }).progress(pool);
  deepEqual(asked, ["north/machine-deployment/fleet/pool", "machine-deployment/fleet/pool"]);
});

Deno.test("poolRow: adds the cluster name to the pool, so that the CLI recognizes holds that Ostler set for this pool", () => {
  const deployment = { metadata: { ...pool, uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" }, spec: {} };
  deepEqual(poolRow(deployment, undefined, "north")?.pool, { cluster: "north", ...pool });
  deepEqual(poolRow(deployment, undefined)?.pool, pool);
});
