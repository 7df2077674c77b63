/** The API servers of a cluster's control planes; a request shows only the version of the one that answers it. */
import type { Cluster } from "../cluster.ts";
import { readGroupNodes } from "../node_version/group_nodes.ts";
import { controlPlanesIn, readPartsOf } from "./planes.ts";
import { minorOf } from "./versions.ts";

/**
 * Returns an API server with an older minor version than `minor` (of `minorOf`), or undefined. kubeadm upgrades the API
 * server of a node before its kubelet, so only nodes with an older kubelet are read. A server whose version is unknown,
 * as while its pod is restarted, counts with that of the kubelet.
 */
export async function olderApiServer(
  kube: Cluster,
  minor: number,
): Promise<{ node: string; version: string } | undefined> {
  const isOlder = (version: string): boolean => (minorOf(version) ?? minor) < minor;
  const behind = controlPlanesIn(await readGroupNodes(kube)).filter(({ kubelet }) => isOlder(kubelet));
  const parts = await readPartsOf(kube, behind);
  return behind.map(({ name, kubelet }) => {
    const server = parts.get(name)?.find(({ title }) => title === "API server");
    return { node: name, version: server?.version || kubelet };
  }).find(({ version }) => isOlder(version));
}
