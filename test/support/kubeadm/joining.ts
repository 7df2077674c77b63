/** How machines become nodes by kubeadm: the first one by `kubeadm init`, all others by `kubeadm join`. */
import { bootstrapKubeconfig } from "../../../profiles/mod.ts";
import type { CloudInstance, GroupCloud } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import {
  clusterOf,
  type Joining,
  type JoiningMeans,
  openNodeFiles,
} from "../../../deploy/local/machines/groups/joining.ts";
import type { BootFile } from "../../../deploy/local/machines/groups/node_files.ts";
import { cloudConfig } from "../../../deploy/local/machines/groups/user_data.ts";
import { bootFiles } from "./boot_files.ts";
import type { ClusterKeys } from "./cluster_keys.ts";
import {
  type ClusterShape,
  discoveryPath,
  initConfig,
  joinConfig,
  upgradeConfig,
  upgradePath,
} from "./kubeadm_config.ts";

/** The group that may join by kubeadm's own permissions. */
export const bootstrappers = "system:bootstrappers:kubeadm:default-node-token";

export interface KubeadmCluster {
  cloud: GroupCloud;
  keys: ClusterKeys;
  shape: ClusterShape;
  /** Returns the components that kubeadm accepts for a control plane. */
  accepted: () => Promise<string>;
}

/** Returns the way to join by kubeadm; the first control plane creates the cluster. */
export async function joinByKubeadm(cluster: KubeadmCluster, means: JoiningMeans): Promise<Joining> {
  const filesOf = await openNodeFiles(means);
  let first: string | undefined;
  return {
    userData: async (instance, asked) => {
      const isControlPlane = cluster.cloud.group(instance.group)?.role === "ControlPlane";
      if (isControlPlane) first ??= instance.providerId;
      const components = isControlPlane && instance.providerId !== first ? await cluster.accepted() : asked;
      const files = filesOf(instance, components);
      const upgrades = { path: upgradePath, permissions: "0600", content: upgradeConfig() };
      const special = isControlPlane ? [...cluster.keys.files, upgrades] : [];
      const own = instance.providerId === first
        ? bootFiles(files, { verb: "init", config: initConfig(instance, cluster.shape) })
        : await joinFiles(means, { instance, components, files, isControlPlane });
      return cloudConfig(instance, [...own, ...special]);
    },
  };
}

async function joinFiles({ joinService }: JoiningMeans, { instance, components, files, isControlPlane }: {
  instance: CloudInstance;
  components: string;
  files: readonly BootFile[];
  isControlPlane: boolean;
}): Promise<BootFile[]> {
  if (isControlPlane) await joinService.takeTurn(instance.node, components);
  else await joinService.announce(instance.node, components);
  const ticket = await joinService.ticket();
  const discovery = bootstrapKubeconfig(clusterOf(joinService), ticket);
  return [
    ...bootFiles(files, { verb: "join", config: joinConfig(instance, { ticket, isControlPlane }) }),
    { path: discoveryPath, permissions: "0600", content: discovery },
  ];
}
