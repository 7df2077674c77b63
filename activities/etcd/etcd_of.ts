/**
 * Selects the client of a cluster's etcd: the one that the opened cluster has, else a client of the etcd on its nodes.
 */
import type { Cluster } from "../cluster.ts";
import type { Etcd } from "./etcd.ts";
import { EtcdOnNodes } from "./etcd_on_nodes.ts";

/** Returns a client of a cluster's etcd; `hosts` are the addresses of the cluster's control planes. */
export function etcdOf(cluster: Cluster, hosts: readonly string[]): Etcd {
  return cluster.etcd?.(hosts) ?? new EtcdOnNodes(cluster, hosts);
}
