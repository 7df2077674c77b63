/** Where machines find the API server, from the cluster's own announcement. */
import { loadYaml } from "@kubernetes/client-node";
import { Buffer } from "node:buffer";
import { z } from "zod";
import { refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";

export interface ClusterInfo {
  apiServer: string;
  caPem: string;
}

// kubeadm writes it with an empty cluster name, which a KubeConfig would refuse.
const Announcement = z.object({
  clusters: z.array(z.object({ cluster: z.object({ server: z.string(), "certificate-authority-data": z.string() }) })),
});

/** Reads ConfigMap kube-public/cluster-info. */
export async function readClusterInfo(kube: Kube): Promise<ClusterInfo> {
  const map = await ifFound(kube.core.readNamespacedConfigMap({ namespace: "kube-public", name: "cluster-info" }));
  const text = map?.data?.["kubeconfig"];
  if (!text) throw missing("it has no kubeconfig");
  const cluster = Announcement.safeParse(loadYaml(text)).data?.clusters[0]?.cluster;
  if (!cluster) throw missing("its kubeconfig has no cluster with a CA");
  return { apiServer: cluster.server, caPem: Buffer.from(cluster["certificate-authority-data"], "base64").toString() };
}

function missing(state: string): Error {
  return refused("ObjectInvalid", `Cannot read ConfigMap "kube-public/cluster-info": ${state}`);
}
