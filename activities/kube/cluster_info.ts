/** ConfigMap kube-public/cluster-info, in which kubeadm announces the address and the CAs of the API server. */
import { Buffer } from "node:buffer";
import { z } from "zod";
import type { Kube } from "./client.ts";
import { loadYaml } from "./client_node.ts";
import { ifFound } from "./status.ts";

// The announcement is not loaded as a KubeConfig, which would refuse the empty cluster name that kubeadm writes.
const Announcement = z.object({
  clusters: z.array(z.object({
    cluster: z.object({
      server: z.string().regex(/^https?:\/\/\S+$/),
      "certificate-authority-data": z.string().optional(),
    }),
  })).min(1),
});

/** An announced API server. */
interface Announced {
  server: string;
  /** PEM of the announced CAs; absent if none is announced. */
  caPem?: string;
}

/** Reads the ConfigMap; undefined if it does not exist or contains no valid address. */
export async function readAnnouncement(kube: Kube): Promise<Announced | undefined> {
  const map = await ifFound(kube.core.readNamespacedConfigMap({ namespace: "kube-public", name: "cluster-info" }));
  const cluster = Announcement.safeParse(parsed(map?.data?.["kubeconfig"])).data?.clusters[0]?.cluster;
  if (!cluster) return undefined;
  const { server, "certificate-authority-data": data } = cluster;
  return { server, ...(data ? { caPem: Buffer.from(data, "base64").toString() } : {}) };
}

function parsed(text: string | undefined): unknown {
  try {
    return text ? loadYaml(text) : undefined;
  } catch {
    return undefined; // not YAML, so nothing is announced
  }
}
