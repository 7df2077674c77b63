/** APIs in use that a later version of Kubernetes does not have, from the metrics of all API servers. */
import type { Kube } from "../kube/client.ts";
import { abreast, attempting } from "../kube/status.ts";
import { minorOf } from "./versions.ts";

/** Maximum API servers that are read, and how many of them concurrently. */
const most = { servers: 9, atOnce: 3 };
const metric = "apiserver_requested_deprecated_apis{";

/** The names of the APIs in use, and one message for each API server whose metrics could not be read. */
export interface RemovedApis {
  inUse: string[];
  unread: string[];
}

/**
 * Returns the APIs that clients have used since the start of an API server, and that `version` does not have. Each API
 * server counts its own requests, so up to nine of them are read, and those that do not answer are reported. If this
 * process can reach none of them directly, for example from another network, the result is from the API server that the
 * load balancer chose, and the unreachable API servers are not reported.
 */
export async function readRemovedApis(kube: Kube, version: string): Promise<RemovedApis> {
  const any = await attempting("read the metrics of the API server", () => kube.metrics.read());
  const servers = await attempting("list the API servers", () => readServers(kube));
  // A cluster with one API server needs no further reads, because `any` is from that server.
  const others = servers.length === 1 ? [] : servers.slice(0, most.servers);
  const read = await abreast(most.atOnce, others, async (server) => {
    try {
      return { text: await attempting(`read the metrics of "${server}"`, () => kube.metrics.read(server)) };
    } catch (error) {
      return { fault: error instanceof Error ? error.message : `Failed to read the metrics of "${server}"` };
    }
  });
  const texts = [any, ...read.flatMap(({ text }) => text ?? [])];
  const inUse = new Set(texts.flatMap((text) => removedIn(text, version)));
  const unread = read.flatMap(({ fault }) => fault ?? []);
  return { inUse: [...inUse].sort(), unread: unread.length === others.length ? [] : unread };
}

/**
 * Returns the URLs of all API servers from EndpointSlice default/kubernetes, in which each API server keeps its own
 * address. Ignores other EndpointSlices of the Service, because a request to their addresses would reveal the
 * credentials of this process.
 */
async function readServers(kube: Kube): Promise<string[]> {
  const labelSelector = "kubernetes.io/service-name=kubernetes";
  const { items } = await kube.discovery.listNamespacedEndpointSlice({ namespace: "default", labelSelector });
  const own = items.filter(({ metadata }) => metadata?.name === "kubernetes");
  const urls = own.flatMap(({ endpoints, ports, addressType }) => {
    const port = ports?.find(({ name }) => name === "https")?.port;
    const hosts = (endpoints ?? []).flatMap(({ addresses }) => addresses);
    return port === undefined
      ? []
      : hosts.map((host) => `https://${addressType === "IPv6" ? `[${host}]` : host}:${port}`);
  });
  return [...new Set(urls)].sort();
}

/** Returns the APIs of a text in the format of Prometheus that `version` lacks, as "resource of group/version". */
export function removedIn(text: string, version: string): string[] {
  const desired = minorOf(version) ?? Infinity;
  return text.split("\n").filter((line) => line.startsWith(metric)).flatMap((line) => {
    const { group = "", version: api = "", resource = "", removed_release: release = "" } = labelsOf(line);
    const isUsed = Number(line.slice(line.lastIndexOf("}") + 1)) > 0;
    if (!isUsed || (minorOf(release) ?? Infinity) > desired) return [];
    return [`${resource} of ${group === "" ? api : `${group}/${api}`}`.slice(0, 200)];
  });
}

function labelsOf(line: string): Record<string, string> {
  return Object.fromEntries([...line.matchAll(/(\w+)="([^"\\]*)"/g)].map(([, name = "", value = ""]) => [name, value]));
}
