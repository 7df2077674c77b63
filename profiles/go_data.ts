import { machineCluster } from "./bootstrap_kubeconfig.ts";
import { cloudConfig } from "./cloud_config/cloud_config.ts";
import { containerdConfig } from "./containerd/config_toml.ts";
import type { RenderFacts } from "./facts.ts";
import { normaliseKubeletVersion } from "./kubelet_version.ts";
import { namesOf } from "./names.ts";
import { osSettings } from "./os_settings.ts";
import type { ProviderConfig } from "./provider_config.ts";
import { isGoDuration } from "./go_duration.ts";
import { kubeletAnnotationPrefix as prefix } from "./kubelet_settings.ts";
import { ProfileRefused } from "./refusal.ts";

/** In-tree cloud providers, as Operating System Manager reports them to templates. */
const inTree = ["aws", "azure", "gce", "vsphere"];

/**
 * Returns the data of Go templates with the names and shapes of Operating System Manager; a nil pointer there is null
 * here. Throws ProfileRefused for facts that no template can be rendered with.
 */
export function goData(facts: RenderFacts): Record<string, unknown> {
  return { ...clusterData(facts), ...poolData(facts), ...neverFilled };
}

function clusterData(facts: RenderFacts): Record<string, unknown> {
  const { cluster, settings, secrets } = facts;
  return {
    ClusterDNSIPs: settings.clusterDns,
    KubernetesCACert: settings.kubernetesCaBundle || cluster.caPem,
    HostCACert: settings.hostCaBundle,
    ContainerRuntime: "containerd",
    ContainerRuntimeConfig: containerdConfig(settings, secrets.registryAuths),
    ExternalCloudProvider: settings.externalCloudProvider,
    InitialTaints: settings.initialTaints,
    HTTPProxy: settings.nodeHttpProxy || null,
    NoProxy: settings.nodeNoProxy || null,
    KubeletFeatureGates: settings.nodeKubeletFeatureGates,
    PauseImage: settings.pauseImage,
    ServerURL: machineCluster(facts).apiServer,
    Token: secrets.token,
    BootstrapKubeconfig: secrets.bootstrapKubeconfig,
  };
}

function poolData(facts: RenderFacts): Record<string, unknown> {
  const { deployment, provider, settings } = facts;
  const names = namesOf(deployment);
  return {
    KubeVersion: normaliseKubeletVersion(deployment.kubelet),
    CloudConfig: cloudConfig(facts),
    CloudProviderName: provider.cloudProvider,
    InTreeCCMAvailable: inTree.includes(provider.cloudProvider) && !settings.externalCloudProvider,
    NetworkConfig: networkData(provider),
    NetworkIPFamily: provider.network?.ipFamily ?? "",
    SecretName: names.provisioning,
    BootstrapKubeconfigSecretName: names.kubeletBootstrap,
    ...goKubeletSettings(deployment.annotations),
    ...osSettings(provider),
  };
}

/** Fields that templates may name although their values are always empty. */
const neverFilled = {
  ContainerRuntimeAuthConfig: "",
  KubeletConfiguration: "",
  KubeletSystemdUnit: "",
  CNIVersion: "",
  ServerAddress: "",
  RHSubscription: null,
};

function networkData({ network }: ProviderConfig): Record<string, unknown> | null {
  if (!network) return null;
  const { cidr = "", gateway = "", ipFamily = "", dns } = network;
  return { CIDR: cidr, Gateway: gateway, DNS: { Servers: dns?.servers ?? null }, IPFamily: ipFamily };
}

/** Returns the value of a setting, or undefined if the text is not valid. */
type Reader = (text: string) => unknown;

const readers: Record<string, { read: Reader; wanted: string }> = {
  SystemReserved: { read: (text) => pairs(text, "="), wanted: "" },
  KubeReserved: { read: (text) => pairs(text, "="), wanted: "" },
  EvictionHard: { read: (text) => pairs(text, "<"), wanted: "" },
  ContainerLogMaxSize: { read: (text) => text, wanted: "" },
  ContainerLogMaxFiles: { read: (text) => /^ *\d* *$/.test(text) ? text : undefined, wanted: "a whole number" },
  MaxPods: { read: int32, wanted: "a 32-bit whole number" },
  ImageGCHighThresholdPercent: { read: int32, wanted: "a 32-bit whole number" },
  ImageGCLowThresholdPercent: { read: int32, wanted: "a 32-bit whole number" },
  ImageMinimumGCAge: { read: duration, wanted: 'a duration such as "36h" or "5m30s"' },
  ImageMaximumGCAge: { read: duration, wanted: 'a duration such as "36h" or "5m30s"' },
};

/**
 * Returns the kubelet annotations as data of Go templates, read as leniently as in Operating System Manager: pairs
 * without a delimiter are dropped; texts and durations stay unchanged (the template engine parses durations). Settings
 * without an annotation are null. Throws ProfileRefused (KubeletSettingsInvalid) for an invalid number or duration.
 */
function goKubeletSettings(annotations: Record<string, string>): Record<string, unknown> {
  const settings = Object.entries(readers).map(([key, { read, wanted }]) => {
    const text = annotations[prefix + key];
    if (text === undefined) return [key, null];
    const value = read(text);
    if (value !== undefined) return [key, value];
    throw new ProfileRefused(
      "KubeletSettingsInvalid",
      `Invalid annotation "${prefix}${key}": value "${text}" must be ${wanted}`,
    );
  });
  return Object.fromEntries(settings);
}

function pairs(text: string, delimiter: string): Record<string, string> {
  const halves = text.split(",").map((pair) => [pair, pair.indexOf(delimiter)] as const).filter(([, at]) => at >= 0);
  return Object.fromEntries(halves.map(([pair, at]) => [pair.slice(0, at), pair.slice(at + delimiter.length)]));
}

function int32(text: string): number | undefined {
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  return value === (value | 0) ? value | 0 : undefined;
}

function duration(text: string): string | undefined {
  return isGoDuration(text) ? text : undefined;
}
