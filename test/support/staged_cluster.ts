/** Changes the inputs of an open cluster during a test. */
import { Cloud, type Cluster, type OpenEtcd } from "../../activities/cluster.ts";
import type { Driver } from "../../activities/clouds/driver.ts";
import type { ReadServed } from "../../activities/x509/served_certificate.ts";

/** From now on the cluster uses this cloud. */
export function useCloud(cluster: Cluster, open: () => Promise<Driver>): void {
  Object.assign(cluster, { cloud: new Cloud(open) });
}

/** From now on the cluster uses this etcd. */
export function useEtcd(cluster: Cluster, etcd: OpenEtcd): void {
  Object.assign(cluster, { etcd });
}

/** From now on the cluster reads certificates of servers this way. */
export function useServed(cluster: Cluster, readServed: ReadServed): void {
  Object.assign(cluster, { readServed });
}
