/** How the etcd of a cluster is asked: as it runs on its nodes, unless a test says otherwise. */
import type { Kube } from "../kube/client.ts";
import type { Etcd } from "./etcd.ts";
import { EtcdOnNodes } from "./etcd_on_nodes.ts";

/** Opens it by the addresses of its machines. */
export type OpenEtcd = (kube: Kube, hosts: readonly string[]) => Etcd;

const opened = new WeakMap<object, OpenEtcd>();

/** Says how the etcd of a cluster is asked. */
export function useEtcd(kube: Kube, open: OpenEtcd): void {
  opened.set(kube.core, open);
}

/** That of a cluster whose control planes have these addresses. */
export function etcdOf(kube: Kube, hosts: readonly string[]): Etcd {
  return opened.get(kube.core)?.(kube, hosts) ?? new EtcdOnNodes(kube, hosts);
}
