/** Whether a NodeVersion asks for a later Kubernetes than its cluster has. */
import type { VersionTrouble } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import type { NodeVersion } from "../kube/update_kinds.ts";

/** No kubelet may be newer than its API server, by minor versions (kubernetes.io, "Version Skew Policy"); null where none would be. */
export async function newerThanServer(kube: Kube, { spec }: Pick<NodeVersion, "spec">): Promise<VersionTrouble | null> {
  const asked = minorOf(spec.kubernetesClusterVersion);
  if (asked === undefined) return null;
  const { gitVersion } = await kube.version.getCode();
  const server = minorOf(gitVersion);
  if (server === undefined || asked <= server) return null;
  const message = `The NodeVersion asks for Kubernetes "${spec.kubernetesClusterVersion}", and the API server is ` +
    `"${gitVersion}": no kubelet may be newer, and upgrading control planes is not supported yet`;
  return { reason: "KubernetesTooNew", message };
}

/** As one number; undefined for what is no version. */
function minorOf(version: string): number | undefined {
  const [, major, minor] = /^v?(\d{1,4})\.(\d{1,4})(\D|$)/.exec(version) ?? [];
  return minor === undefined ? undefined : Number(major) * 10_000 + Number(minor);
}
