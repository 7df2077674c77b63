/** Finds the etcd of a cluster by the addresses of the control plane nodes. */
import type { Cluster } from "../cluster.ts";
import type { EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { readGroupNodes } from "./group_nodes.ts";
import type { Etcd } from "../etcd/etcd.ts";
import { etcdOf } from "../etcd/etcd_of.ts";

/** Returns a client of the cluster's etcd; sends no request to etcd. */
export async function openEtcd(kube: Cluster): Promise<Etcd> {
  const nodes = (await readGroupNodes(kube)).filter(({ isControlPlane }) => isControlPlane);
  return etcdOf(kube, nodes.flatMap(({ addresses }) => addresses));
}

/** Reads the state of the cluster's etcd; concurrent callers share one read. */
export function readSurvey(kube: Cluster): Promise<EtcdSurvey> {
  return kube.cache.read("etcd", async () => await (await openEtcd(kube)).survey());
}
