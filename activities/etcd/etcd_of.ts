/** Connects to the etcd on a cluster's nodes, unless the cluster was opened with another etcd. */
import type { Cluster } from "../cluster.ts";
import type { Etcd } from "./etcd.ts";
import { EtcdOnNodes } from "./etcd_on_nodes.ts";

/** Returns the etcd of a cluster whose control planes have these addresses. */
export function etcdOf(cluster: Cluster, hosts: readonly string[]): Etcd {
  return cluster.etcd?.(hosts) ?? new EtcdOnNodes(cluster, hosts);
}
