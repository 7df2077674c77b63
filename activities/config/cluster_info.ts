/** Where machines find the API server: what the cluster announces, else what its own service knows. */
import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import { z } from "zod";
import { refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { joinedRead } from "../kube/joined_reads.ts";
import { loadYaml } from "../kube/client_node.ts";
import { ifFound } from "../kube/status.ts";

export interface ClusterInfo {
  apiServer: string;
  caPem: string;
}

// kubeadm writes it with an empty cluster name, which a KubeConfig would refuse.
const Announcement = z.object({
  clusters: z.array(z.object({
    cluster: z.object({
      server: z.string().regex(/^https?:\/\/\S+$/),
      "certificate-authority-data": z.string().optional(),
    }),
  })).min(1),
});

/** The same for all who ask at once; see `readAddress`. */
export function readClusterInfo(kube: Kube, caPem: string): Promise<ClusterInfo> {
  return joinedRead(kube, `cluster ${caPem}`, () => readAddress(kube, caPem));
}

/**
 * Reads ConfigMap kube-public/cluster-info. Where it says nothing of use, the ready endpoints of service
 * default/kubernetes stand in for the address; `caPem` stands in for a CA that is not announced.
 */
async function readAddress(kube: Kube, caPem: string): Promise<ClusterInfo> {
  const announced = await readAnnouncement(kube);
  const apiServer = announced?.server ?? await readEndpoint(kube);
  if (!apiServer) throw unknown("no address", "neither ConfigMap kube-public/cluster-info nor an endpoint tells it");
  const data = announced?.["certificate-authority-data"];
  const ca = data ? Buffer.from(data, "base64").toString() : caPem;
  if (!ca) throw unknown("no CA", "ConfigMap kube-public/cluster-info has none and the settings give none");
  return { apiServer, caPem: ca };
}

async function readAnnouncement(
  kube: Kube,
): Promise<z.infer<typeof Announcement>["clusters"][number]["cluster"] | undefined> {
  const map = await ifFound(kube.core.readNamespacedConfigMap({ namespace: "kube-public", name: "cluster-info" }));
  return Announcement.safeParse(parsed(map?.data?.["kubeconfig"])).data?.clusters[0]?.cluster;
}

function parsed(text: string | undefined): unknown {
  try {
    return text ? loadYaml(text) : undefined;
  } catch {
    return undefined; // no YAML announces nothing
  }
}

// A plain read with a time limit: nothing is watched, so the right to list this one namespace is enough.
async function readEndpoint(kube: Kube): Promise<string | undefined> {
  const labelSelector = "kubernetes.io/service-name=kubernetes";
  const where = { namespace: "default", labelSelector, timeoutSeconds: 10 };
  const { items } = await kube.discovery.listNamespacedEndpointSlice(where);
  for (const { ports, endpoints } of items) {
    const port = ports?.find(({ name }) => name === "https")?.port;
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
    const ip = ready.map(({ addresses }) => addresses[0] ?? "").find((address) => isIP(address) !== 0);
    if (port && ip) return `https://${isIP(ip) === 6 ? `[${ip}]` : ip}:${port}`;
  }
  return undefined;
}

function unknown(what: string, state: string): Error {
  return refused("ObjectInvalid", `Cannot tell machines where the API server is: ${what} is known, ${state}`);
}
