/** The etcd of a cluster, by the addresses that the nodes of its control planes have. */
import type { EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { readGroupNodes } from "../backends/scaling_group/group_nodes.ts";
import type { Etcd } from "../etcd/etcd.ts";
import { etcdOf } from "../etcd/etcd_of.ts";
import type { Kube } from "../kube/client.ts";
import { joinedRead } from "../kube/joined_reads.ts";

/** Opens it; nothing is asked of it yet. */
export async function openEtcd(kube: Kube): Promise<Etcd> {
  const nodes = (await readGroupNodes(kube)).filter(({ isControlPlane }) => isControlPlane);
  return etcdOf(kube, nodes.flatMap(({ addresses }) => addresses));
}

/** One look of all who ask at a time. */
export function readSurvey(kube: Kube): Promise<EtcdSurvey> {
  return joinedRead(kube, "etcd", async () => await (await openEtcd(kube)).survey());
}
