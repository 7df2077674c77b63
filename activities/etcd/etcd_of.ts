/** Selects the access to a cluster's etcd: the one with which the cluster was opened, else the etcd on its nodes. */
import type { Cluster } from "../cluster.ts";
import type { Etcd } from "./etcd.ts";
import { EtcdOnNodes } from "./etcd_on_nodes.ts";

/** Returns the etcd of a cluster whose control planes have these addresses. */
export function etcdOf(cluster: Cluster, hosts: readonly string[]): Etcd {
  return cluster.etcd?.(hosts) ?? new EtcdOnNodes(cluster, hosts);
}
