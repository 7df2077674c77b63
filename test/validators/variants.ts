/**
 * The variants with which each profile is tested. A variant also has settings that do not need a variant of their own.
 */
import type { FactOverrides } from "../support/render_facts.ts";

const hostCa = "-----BEGIN CERTIFICATE-----\nTUlJQ2hvc3Q=\n-----END CERTIFICATE-----\n";

const kubeletPrefix = "v1.kubelet-config.machine-controller.kubermatic.io/";
const tunedKubelet = {
  [`${kubeletPrefix}KubeReserved`]: "cpu=300m,memory=1Gi",
  [`${kubeletPrefix}SystemReserved`]: "cpu=200m,ephemeral-storage=1Gi",
  [`${kubeletPrefix}EvictionHard`]: "memory.available<200Mi,nodefs.available<10%",
  [`${kubeletPrefix}ContainerLogMaxSize`]: "50Mi",
  [`${kubeletPrefix}ContainerLogMaxFiles`]: "3",
  [`${kubeletPrefix}MaxPods`]: "200",
  [`${kubeletPrefix}ImageGCHighThresholdPercent`]: "80",
  [`${kubeletPrefix}ImageGCLowThresholdPercent`]: "70",
  [`${kubeletPrefix}ImageMinimumGCAge`]: "5m",
  [`${kubeletPrefix}ImageMaximumGCAge`]: "36h",
};

export const variants: Record<string, FactOverrides> = {
  plain: {},
  proxy: {
    deployment: { annotations: tunedKubelet },
    provider: {
      operatingSystemSpec: {
        distUpgradeOnBoot: true,
        disableAutoUpdate: true,
        rhelSubscriptionManagerUser: "somebody",
        rhelSubscriptionManagerPassword: "p@ss: #1",
        attachSubscription: true,
      },
      sshPublicKeys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ it\'s "me": a # key'],
    },
    settings: {
      nodeHttpProxy: "http://user:pass%20word@proxy.example:3128",
      nodeNoProxy: ".svc,.cluster.local,10.0.0.0/8,localhost",
      hostCaBundle: hostCa,
      initialTaints: "node.cilium.io/agent-not-ready=true:NoSchedule,dedicated=batch:NoExecute",
    },
  },
  mirrors: {
    provider: {
      operatingSystemSpec: {
        rhelUseSatelliteServer: true,
        rhelSatelliteServer: "satellite.example",
        rhelOrganizationName: "1234567",
        rhelActivationKey: "a-key",
      },
    },
    settings: {
      nodeContainerdRegistryMirrors: [
        "docker.io=https://mirror.example/hub?kubermatic=override_path%3Dtrue",
        "registry.k8s.io=https://mirror.example:5000",
        "*=https://everything.example",
      ],
      nodeRegistryMirrors: ["quay.io=quay-mirror.example"],
      nodeInsecureRegistries: ["registry.lan:5000", "quay.io"],
      pauseImage: "mirror.example/pause:3.10",
      binariesUrl: "https://mirror.example/binaries/",
      deviceOwnershipFromSecurityContext: true,
      restrictOomScoreAdj: true,
    },
  },
  "IPv6 dual-stack": {
    provider: { network: { ipFamily: "IPv4+IPv6" } },
    cluster: { apiServer: "https://[2001:db8::1]:6443" },
    settings: { clusterDns: ["10.96.0.10", "fd00:10:96::a"], externalCloudProvider: true },
  },
};
