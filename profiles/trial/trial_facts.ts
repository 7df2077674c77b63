/** Fictitious MachineDeployments to test-render a profile for: with as few fields as possible, and with all of them. */
import { createHash } from "node:crypto";
import type { RenderFacts } from "../facts.ts";
import { kubeletAnnotationPrefix } from "../kubelet_settings.ts";
import { supportedMinors } from "../kubelet_version.ts";
import { defaultNodeSettings, type NodeSettings } from "../node_settings.ts";
import { parameterPrefix } from "../parameter_values.ts";
import type { ProviderConfig } from "../provider_config.ts";
import { type OsProfile, usableProviders } from "../schema.ts";

/** One MachineDeployment to render a profile for. */
export interface Trial {
  provider: string;
  /** A description of the MachineDeployment, such as "with nothing set". */
  situation: string;
  /** Whether all optional fields are set. */
  isEverythingSaid: boolean;
  facts: RenderFacts;
}

interface Situation {
  words: string;
  minor: number;
  settings: Partial<NodeSettings>;
  annotations: Record<string, string>;
  network: NonNullable<ProviderConfig["network"]> | undefined;
  /** Whether all fields of operatingSystemSpec are set. */
  isEverythingSaid: boolean;
}

const pem = "-----BEGIN CERTIFICATE-----\nVHJpYWw=\n-----END CERTIFICATE-----\n";
/** A token about as long as that of a service account, and as hard to compress. */
const token = Array.from({ length: 28 }, (_, part) => createHash("sha256").update(`${part}`).digest("base64url")).join(
  "",
);

const dualStack = { ipFamily: "IPv4+IPv6" };
const fixed = { cidr: "192.0.2.10/24", gateway: "192.0.2.1", dns: { servers: ["192.0.2.53"] }, ipFamily: "IPv4" };

const kubelet = {
  SystemReserved: "cpu=100m,memory=200Mi",
  KubeReserved: "cpu=200m,memory=300Mi",
  EvictionHard: "memory.available<100Mi,nodefs.available<10%",
  ContainerLogMaxSize: "50Mi",
  ContainerLogMaxFiles: "3",
  MaxPods: "110",
  ImageGCHighThresholdPercent: "80",
  ImageGCLowThresholdPercent: "70",
  ImageMinimumGCAge: "5m",
  ImageMaximumGCAge: "36h",
};

const everything: Partial<NodeSettings> = {
  externalCloudProvider: true,
  initialTaints: "trial=yes:NoSchedule",
  pauseImage: "registry.example/pause:3.10",
  nodeHttpProxy: "http://proxy.example:3128",
  nodeKubeletFeatureGates: { RotateKubeletServerCertificate: true, TrialGate: false },
  nodeInsecureRegistries: ["registry.example:5000"],
  nodeContainerdRegistryMirrors: ["docker.io=https://mirror.example"],
  deviceOwnershipFromSecurityContext: true,
  restrictOomScoreAdj: true,
  hostCaBundle: pem,
};

function situationsOf({ osName }: OsProfile): Situation[] {
  const [oldest = 0, newest = 0] = [Math.min(...supportedMinors), Math.max(...supportedMinors)];
  const plain = { settings: {}, annotations: {}, network: undefined, isEverythingSaid: false };
  const annotations = Object.entries(kubelet).map(([key, value]) => [kubeletAnnotationPrefix + key, value]);
  return [
    { ...plain, words: "with nothing set", minor: newest },
    { ...plain, words: "with a dual-stack network", minor: newest, network: dualStack },
    {
      words: "with everything set",
      minor: oldest,
      settings: everything,
      annotations: Object.fromEntries(annotations),
      // Only Flatcar can have a static address.
      network: osName === "flatcar" ? fixed : dualStack,
      isEverythingSaid: true,
    },
  ];
}

/** Returns a trial for every known provider of a profile in every situation. */
export function trialsOf(profile: OsProfile): Trial[] {
  return usableProviders(profile).flatMap((name) =>
    situationsOf(profile).map((situation) => ({
      provider: name,
      situation: situation.words,
      isEverythingSaid: situation.isEverythingSaid,
      facts: factsOf(profile, name, situation),
    }))
  );
}

function factsOf(profile: OsProfile, provider: string, situation: Situation): RenderFacts {
  const { minor, settings, annotations, network, isEverythingSaid } = situation;
  return {
    deployment: {
      namespace: "kube-system",
      name: "trial",
      annotations: { ...annotations, ...missingParameters(profile) },
      kubelet: `1.${minor}.0`,
    },
    provider: {
      cloudProvider: provider,
      cloudProviderSpec: {},
      operatingSystem: profile.osName,
      operatingSystemSpec: osSpecOf(profile, isEverythingSaid),
      sshPublicKeys: ["ssh-ed25519 AAAA trial"],
      ...(network ? { network } : {}),
    },
    cluster: { apiServer: "https://192.0.2.1:6443", caPem: pem },
    settings: { ...defaultNodeSettings, ...settings },
    secrets: { token, bootstrapKubeconfig: "trial", registryAuths: {}, references: {}, seed: "trial" },
  };
}

function osSpecOf({ osName, provisioningUtility }: OsProfile, isEverythingSaid: boolean): Record<string, unknown> {
  if (osName === "flatcar") {
    const flags = { disableAutoUpdate: true, disableLocksmithD: true, disableUpdateEngine: true };
    return { provisioningUtility, ...(isEverythingSaid ? flags : {}) };
  }
  if (!isEverythingSaid) return {};
  const subscription = { rhelSubscriptionManagerUser: "trial", rhelSubscriptionManagerPassword: "trial" };
  return { ...(osName === "rhel" ? subscription : {}), distUpgradeOnBoot: true };
}

// Every MachineDeployment must set the parameters that have no default.
function missingParameters({ parameters = {} }: OsProfile): Record<string, string> {
  const missing = Object.entries(parameters).filter(([, parameter]) => parameter.default === undefined);
  return Object.fromEntries(missing.map(([name, { type, enum: choices }]) => {
    const made = { string: "trial", integer: "1", boolean: "true", list: "trial" };
    return [parameterPrefix + name, choices?.[0] ?? made[type]];
  }));
}
