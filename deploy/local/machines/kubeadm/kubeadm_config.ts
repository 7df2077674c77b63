/** What kubeadm is told on a machine (kubeadm.k8s.io/v1beta4). */
import type { CloudInstance } from "../../cloud/groups/group_cloud.ts";
import { kubernetesVersion } from "./programs.ts";

/** What all machines of a cluster have in common. */
export interface ClusterShape {
  /** `host:port` that leads to any of its API servers. */
  endpoint: string;
  podNetwork: string;
  imageRepository: string;
  hasCgroupV2: boolean;
}

const apiVersion = "kubeadm.k8s.io/v1beta4";
/** With a ticket in it. */
export const discoveryPath = "/etc/kubernetes/discovery.conf";

/** As the stack has it: its first steps take long at the usual rate, and who waits for a lost node waits long enough. */
const controllerManager = {
  "kube-api-qps": "200",
  "kube-api-burst": "400",
  "node-monitor-period": "2s",
  "node-monitor-grace-period": "20s",
};

/** For the first machine. */
export function initConfig(instance: CloudInstance, shape: ClusterShape): string {
  return documents([
    { apiVersion, kind: "InitConfiguration", nodeRegistration: registrationOf(instance) },
    {
      ...{ apiVersion, kind: "ClusterConfiguration", kubernetesVersion, controlPlaneEndpoint: shape.endpoint },
      ...{ imageRepository: shape.imageRepository, encryptionAlgorithm: "ECDSA-P256" },
      networking: { podSubnet: shape.podNetwork, serviceSubnet: "10.96.0.0/16" },
      // Machines route the one Service that pods here need themselves, and no pod looks up a name.
      ...{ dns: { disabled: true }, proxy: { disabled: true } },
      controllerManager: { extraArgs: argumentsOf(controllerManager) },
    },
    kubeletConfig(shape),
  ]);
}

/** For each machine after it. */
export function joinConfig(instance: CloudInstance, { ticket, isControlPlane }: {
  ticket: string;
  isControlPlane: boolean;
}): string {
  return documents([{
    ...{ apiVersion, kind: "JoinConfiguration", nodeRegistration: registrationOf(instance) },
    discovery: { file: { kubeConfigPath: discoveryPath }, tlsBootstrapToken: ticket },
    ...(isControlPlane ? { controlPlane: {} } : {}),
  }]);
}

/** Its cloud knows the node by its id, and where it stands. */
function registrationOf({ node, providerId, zone }: CloudInstance): object {
  return {
    ...{ name: node, criSocket: "unix:///run/containerd/containerd.sock", imagePullSerial: false },
    // It looks for the config of the kernel, which is the host's.
    ignorePreflightErrors: ["SystemVerification"],
    kubeletExtraArgs: argumentsOf({
      "provider-id": providerId,
      "node-labels": `topology.kubernetes.io/zone=${zone}`,
    }),
  };
}

function argumentsOf(flags: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(flags).map(([name, value]) => ({ name, value }));
}

function kubeletConfig({ hasCgroupV2 }: ClusterShape): object {
  return {
    ...{ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration", cgroupDriver: "systemd" },
    ...{ failCgroupV1: hasCgroupV2, failSwapOn: false, resolvConf: "/run/ostler/resolv.conf" },
    // How full the host's disk is says nothing about the machine.
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
  };
}

/** JSON is YAML. */
function documents(all: readonly object[]): string {
  return all.map((each) => `${JSON.stringify(each)}\n`).join("---\n");
}
