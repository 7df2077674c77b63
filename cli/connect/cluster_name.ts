/** The name that a cluster has in Temporal, where several share a namespace of it. */
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";

/** Reads --cluster, else OSTLER_CLUSTER; "" for none. */
export function clusterNameOf(
  { env }: Terminal,
  { cluster = env["OSTLER_CLUSTER"] ?? "" }: { cluster?: string },
): string {
  if (cluster === "" || isClusterName(cluster)) return cluster;
  throw new UsageError(`Cannot use "${cluster}" as the name of a cluster: it must be a DNS label such as north-1`);
}

/** Whether a text can be the name of a cluster: a DNS label. */
export function isClusterName(text: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}

/** The pool as its run knows it. */
export function inCluster(cluster: string, pool: PoolRef): PoolRef {
  return cluster === "" ? pool : { cluster, ...pool };
}
