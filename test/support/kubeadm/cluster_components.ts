/** The components that a control plane joins with: kubeadm accepts only those of the cluster's own version. */
import { connectWith } from "../../../deploy/local/cloud/kube.ts";

/** Returns the name of the components whose version kubeadm has recorded for the cluster of this kubeconfig. */
export async function clusterComponents(
  kubeconfig: string,
  versions: Readonly<Record<string, string>>,
): Promise<string> {
  const connection = connectWith(kubeconfig);
  try {
    const { data } = await connection.core.readNamespacedConfigMap({
      namespace: "kube-system",
      name: "kubeadm-config",
    });
    const [, recorded] = /^kubernetesVersion: (\S+)$/m.exec(data?.["ClusterConfiguration"] ?? "") ?? [];
    const [name] = Object.entries(versions).find(([, version]) => version === recorded) ?? [];
    if (name === undefined) throw new Error(`Failed to choose components: kubeadm recorded version "${recorded}"`);
    return name;
  } finally {
    await connection.close();
  }
}
