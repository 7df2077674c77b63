/** Finds versions of API servers by their pods, because a request shows only the version of the server that answers. */
import type { Cluster } from "../cluster.ts";
import { readGroupNodes } from "../node_version/group_nodes.ts";
import { controlPlanesIn, readPartsOf } from "./planes.ts";
import { minorOf } from "./versions.ts";

/**
 * Returns an API server with an older minor version than `minor` (from `minorOf`); undefined if there is none. kubeadm
 * upgrades the API server of a node before its kubelet, so only nodes with an older kubelet are read. While the version
 * of an API server is unknown, for example because its pod restarts, the version of its node's kubelet counts instead.
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
