/** The version of Kubernetes that kubeadm recorded for a cluster. */
import { z } from "zod";
import { loadYaml } from "../kube/client_node.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";
import { plainVersion } from "./versions.ts";

/** The ConfigMap in which kubeadm records the version. */
export const kubeadmConfig = { namespace: "kube-system", name: "kubeadm-config" };

const ClusterConfiguration = z.looseObject({ kubernetesVersion: z.string() });

/** Returns the version that kubeadm recorded for the cluster; "" if there is none of the form "v1.36.1". */
export async function readClusterVersion(kube: Kube): Promise<string> {
  const map = await ifFound(kube.core.readNamespacedConfigMap(kubeadmConfig));
  const { data } = ClusterConfiguration.safeParse(yamlIn(map?.data?.["ClusterConfiguration"] ?? ""));
  return plainVersion(data?.kubernetesVersion ?? "");
}

function yamlIn(text: string): unknown {
  try {
    return loadYaml(text);
  } catch {
    return undefined; // the schema rejects undefined, like other invalid values
  }
}
