/** The name of a cluster in Temporal, for clusters that share a namespace there. */
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";

/** Reads --cluster, else OSTLER_CLUSTER; returns "" without a name, and throws UsageError for an invalid one. */
export function clusterNameOf(
  { env }: Terminal,
  { cluster = env["OSTLER_CLUSTER"] ?? "" }: { cluster?: string },
): string {
  if (cluster === "" || isClusterName(cluster)) return cluster;
  throw new UsageError(`Failed to use "${cluster}" as the name of a cluster: expected a DNS label such as north-1`);
}

/** Returns whether a text can be the name of a cluster: a DNS label. */
export function isClusterName(text: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}

/**
 * Adds the name of the cluster to a pool, because the workflow id contains both; returns the pool unchanged if the name
 * is "".
 */
export function inCluster(cluster: string, pool: PoolRef): PoolRef {
  return cluster === "" ? pool : { cluster, ...pool };
}
