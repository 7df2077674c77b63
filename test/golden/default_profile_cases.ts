import type { FactOverrides } from "../support/render_facts.ts";
import { airGap } from "../support/default_profile_facts.ts";

/** The input of one recorded render. */
export interface ProfileCase {
  profile: string;
  provider: string;
  facts?: FactOverrides;
}

const dualStack = { network: { ipFamily: "IPv4+IPv6" } };

const kubelet = {
  SystemReserved: "cpu=100m,memory=200Mi",
  KubeReserved: "cpu=200m,memory=300Mi",
  EvictionHard: "memory.available<100Mi,nodefs.available<10%",
  ContainerLogMaxSize: "50Mi",
  ContainerLogMaxFiles: "3",
  MaxPods: "220",
  ImageGCHighThresholdPercent: "80",
  ImageGCLowThresholdPercent: "70",
  ImageMinimumGCAge: "5m",
  ImageMaximumGCAge: "36h",
};

const annotations = Object.fromEntries(
  Object.entries(kubelet).map(([key, value]) => [`v1.kubelet-config.machine-controller.kubermatic.io/${key}`, value]),
);

/** Cases by name; a file's text that several cases have in common is recorded once, under the first of these cases. */
export const profileCases: Record<string, ProfileCase> = {
  ubuntu: { profile: "osp-ubuntu", provider: "kubevirt" },
  debian: { profile: "osp-debian", provider: "openstack" },
  rhel: { profile: "osp-rhel", provider: "azure" },
  rockylinux: { profile: "osp-rockylinux", provider: "hetzner" },
  amzn2: { profile: "osp-amzn2", provider: "aws" },
  flatcar: { profile: "osp-flatcar", provider: "aws" },
  "flatcar-cloud-init": { profile: "osp-flatcar-cloud-init", provider: "anexia" },
  "ubuntu-air-gap": {
    profile: "osp-ubuntu",
    provider: "nutanix",
    facts: { ...airGap, provider: { operatingSystemSpec: { distUpgradeOnBoot: true } } },
  },
  "ubuntu-dual-stack-external": {
    profile: "osp-ubuntu",
    provider: "aws",
    facts: { provider: dualStack, settings: { externalCloudProvider: true } },
  },
  "ubuntu-kubelet-settings": {
    profile: "osp-ubuntu",
    provider: "vsphere",
    facts: {
      deployment: {
        annotations: { ...annotations, "parameter.ostler.dev/failCgroupV1": "false" },
        kubelet: "1.33.4",
      },
      settings: {
        clusterDns: ["10.96.0.10", "2001:db8::a"],
        clusterDomain: "example.test",
        initialTaints: "dedicated=batch:NoSchedule",
        nodeKubeletFeatureGates: { RotateKubeletServerCertificate: true, GracefulNodeShutdown: false },
      },
    },
  },
  "rockylinux-air-gap-dual-stack": {
    profile: "osp-rockylinux",
    provider: "vsphere",
    facts: { ...airGap, provider: { ...dualStack, operatingSystemSpec: { distUpgradeOnBoot: true } } },
  },
  "flatcar-static-network-proxy": {
    profile: "osp-flatcar",
    provider: "vsphere",
    facts: {
      ...airGap,
      provider: {
        network: {
          cidr: "192.0.2.10/24",
          gateway: "192.0.2.1",
          dns: { servers: ["192.0.2.53", "2001:db8::35"] },
          ipFamily: "IPv6+IPv4",
        },
        operatingSystemSpec: { disableLocksmithD: true },
      },
    },
  },
  "flatcar-cloud-director": {
    profile: "osp-flatcar",
    provider: "vmware-cloud-director",
    facts: { provider: { operatingSystemSpec: { disableAutoUpdate: true } } },
  },
};
