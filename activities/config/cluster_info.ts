/** Where machines find the API server, from the cluster's own announcement. */
import { KubeConfig } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import { refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";

export interface ClusterInfo {
  apiServer: string;
  caPem: string;
}

/** Reads ConfigMap kube-public/cluster-info. */
export async function readClusterInfo(kube: Kube): Promise<ClusterInfo> {
  const map = await ifFound(kube.core.readNamespacedConfigMap({ namespace: "kube-public", name: "cluster-info" }));
  const text = map?.data?.["kubeconfig"];
  if (!text) throw missing("it has no kubeconfig");
  const config = new KubeConfig();
  config.loadFromString(text);
  const cluster = config.clusters[0];
  if (!cluster?.caData) throw missing("its kubeconfig has no cluster with a CA");
  return { apiServer: cluster.server, caPem: Buffer.from(cluster.caData, "base64").toString() };
}

function missing(state: string): Error {
  return refused("ObjectInvalid", `Cannot read ConfigMap "kube-public/cluster-info": ${state}`);
}
