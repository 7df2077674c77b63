/** The configuration of kubeadm on a machine (kubeadm.k8s.io/v1beta4). */
import type { CloudInstance } from "../../../deploy/local/cloud/groups/group_cloud.ts";

/** Settings that all machines of a cluster share. */
export interface ClusterShape {
  /** `host:port` that leads to any API server of the cluster. */
  endpoint: string;
  podNetwork: string;
  /** Version with which the first machine creates the cluster. */
  version: string;
  imageRepository: string;
  hasCgroupV2: boolean;
}

const apiVersion = "kubeadm.k8s.io/v1beta4";
/** Path of the discovery kubeconfig, which has a join ticket. */
export const discoveryPath = "/etc/kubernetes/discovery.conf";

/**
 * Arguments of kube-controller-manager as in the embedded stack: at the default rate of requests it starts slowly, and
 * by default it detects a lost node late.
 */
const controllerManager = {
  "kube-api-qps": "200",
  "kube-api-burst": "400",
  "node-monitor-period": "2s",
  "node-monitor-grace-period": "20s",
};

/** Returns the configuration of the first machine. */
export function initConfig(instance: CloudInstance, shape: ClusterShape): string {
  return documents([
    { apiVersion, kind: "InitConfiguration", nodeRegistration: registrationOf(instance) },
    {
      ...{ apiVersion, kind: "ClusterConfiguration", kubernetesVersion: shape.version },
      controlPlaneEndpoint: shape.endpoint,
      ...{ imageRepository: shape.imageRepository, encryptionAlgorithm: "ECDSA-P256" },
      networking: { podSubnet: shape.podNetwork, serviceSubnet: "10.96.0.0/16" },
      // Neither kube-proxy nor CoreDNS is needed: machines themselves route the only Service that pods use, and no pod
      // uses DNS.
      ...{ dns: { disabled: true }, proxy: { disabled: true } },
      controllerManager: { extraArgs: argumentsOf(controllerManager) },
    },
    kubeletConfig(shape),
  ]);
}

/** Returns the configuration of each following machine. */
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

/** Path of the configuration with which Ostler runs kubeadm in upgrades. */
export const upgradePath = "/etc/kubernetes/kubeadm-upgrade.yaml";

/**
 * Returns the configuration of upgrades, which is needed because kubeadm does not remember which errors `init` ignored.
 */
export function upgradeConfig(): string {
  const ignored = {
    ignorePreflightErrors: [
      "SystemVerification",
      // The cluster has no CoreDNS.
      ...["CoreDNSUnsupportedPlugins", "CoreDNSMigration"],
      // The image of the health check ignores its arguments, so that the Job never completes.
      "CreateJob",
    ],
  };
  return documents([{ apiVersion, kind: "UpgradeConfiguration", plan: ignored, apply: ignored, node: ignored }]);
}

/** Returns the node registration with provider id and zone of the instance. */
function registrationOf({ node, providerId, zone }: CloudInstance): object {
  return {
    ...{ name: node, criSocket: "unix:///run/containerd/containerd.sock", imagePullSerial: false },
    // kubeadm's check "SystemVerification" reads the config of the kernel, which is the host's kernel.
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
    // The free space on the host's disk does not indicate the machine's health.
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
  };
}

/** Returns a multi-document text in JSON, which is valid YAML. */
function documents(all: readonly object[]): string {
  return all.map((each) => `${JSON.stringify(each)}\n`).join("---\n");
}
