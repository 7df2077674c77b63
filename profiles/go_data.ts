import { machineCluster } from "./bootstrap_kubeconfig.ts";
import { cloudConfig } from "./cloud_config/cloud_config.ts";
import { containerdConfig } from "./containerd/config_toml.ts";
import type { RenderFacts } from "./facts.ts";
import { goKubeletSettings } from "./go_kubelet_settings.ts";
import { normaliseKubeletVersion } from "./kubelet_version.ts";
import { namesOf } from "./names.ts";
import { osSettings } from "./os_settings.ts";
import type { ProviderConfig } from "./provider_config.ts";

/** Providers whose code was part of Kubernetes, as far as Operating System Manager tells its templates. */
const inTree = ["aws", "azure", "gce", "vsphere"];

/**
 * The data of Go templates, by the names and in the shapes that Operating System Manager gives them; a pointer that is
 * nil there is null. Throws ProfileRefused for facts that no template can be rendered with.
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

/** Fields that templates may name but that nothing ever sets. */
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
