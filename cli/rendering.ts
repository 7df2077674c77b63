import {
  bytesOf,
  checkProfileFits,
  configDigest,
  generateUserData,
  hidden,
  hideSecrets,
  type NodeSettings,
  type OsConfig,
  type Phase,
  referencesOf,
  renderConfig,
  type RenderFacts,
  userDataFacts,
} from "../profiles/mod.ts";
import { TemplateFault } from "../profiles/engines/template_engine.ts";
import { flagOf } from "../profiles/settings/setting.ts";
import type { DeploymentFile } from "./deployment_file.ts";
import type { NamedProfile } from "./profile_library.ts";
import { refusalPlace } from "./template_place.ts";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./usage_error.ts";
import { placeText } from "./yaml_file.ts";

export const phases: readonly Phase[] = ["bootstrap", "provisioning"];

/** What the machines of one MachineDeployment would boot with; placeholders stand for secrets. */
export interface Rendering {
  profile: { name: string; version: string };
  deployment: DeploymentFile;
  config: OsConfig;
  /** The same as in the cluster, where its address, CA and settings are the same and no secret lasts as long as a machine. */
  digest: string;
  userData: Record<Phase, string>;
  /** Flags of settings that were given and have no effect here. */
  ignoredSettings: string[];
}

// Without a cluster nobody knows them; their flags are `--override-bootstrap-kubelet-apiserver` and `--kubernetes-ca-bundle`.
const placeholderCluster: RenderFacts["cluster"] = {
  apiServer: "https://api-server.invalid:6443",
  caPem: "-----BEGIN CERTIFICATE-----\ngiven-by-flag-kubernetes-ca-bundle\n-----END CERTIFICATE-----\n",
};

const noSecrets: RenderFacts["secrets"] = {
  token: "",
  bootstrapKubeconfig: "",
  registryAuths: {},
  references: {},
  seed: "",
};

/** Renders without a cluster; throws ProfileRefused when it can never render, UsageError with the line of a template. */
export async function renderMachines(
  { name, profile, family }: NamedProfile,
  file: DeploymentFile,
  settings: NodeSettings,
): Promise<Rendering> {
  const facts = factsOf(file, settings);
  const { provider } = file;
  const { operatingSystem, operatingSystemSpec, network } = provider;
  checkProfileFits(profile, { operatingSystem, provider: provider.cloudProvider, operatingSystemSpec, network });
  const config = await renderConfig(profile, hideSecrets(facts)).catch((error) => {
    throw error.cause instanceof TemplateFault
      ? new UsageError(`${placeText(refusalPlace(family, error))}: ${error.message}`)
      : error;
  });
  const userData = (phase: Phase): string => generateUserData(config, phase, userDataFacts(facts));
  return {
    profile: { name, version: profile.version },
    deployment: file,
    config,
    digest: configDigest(config, facts),
    userData: { bootstrap: userData("bootstrap"), provisioning: userData("provisioning") },
    ignoredSettings: ignoredOf(settings),
  };
}

/** Settings that only name what stands in a cluster, or what tokens are made for: neither is known here. */
const clusterSettings = ["nodeRegistryCredentialsSecret", "bootstrapTokenServiceAccountName"] as const;

function ignoredOf(settings: NodeSettings): string[] {
  return clusterSettings.filter((name) => settings[name] !== "").map(flagOf);
}

/** Says once which settings were left out of renderings, if any were. */
export function warnOfIgnored({ err }: Terminal, ignored: readonly string[]): void {
  const flags = [...new Set(ignored)].map((flag) => `--${flag}`).join(", ");
  if (flags !== "") err(`left out, as it takes a cluster to know what they stand for: ${flags}\n`);
}

function factsOf({ deployment, provider }: DeploymentFile, settings: NodeSettings): RenderFacts {
  const cluster = { ...placeholderCluster, caPem: settings.kubernetesCaBundle || placeholderCluster.caPem };
  const facts = { deployment, provider, cluster, settings, secrets: noSecrets };
  // What a cloud-config says may stand in Secrets and in the environment of a worker, and is hidden here anyhow.
  const isElsewhere = referencesOf(facts).length > 0;
  return isElsewhere ? { ...facts, provider: { ...provider, overwriteCloudConfig: hidden } } : facts;
}

/** `12.3 KiB`. */
export function sizeText(text: string): string {
  const bytes = bytesOf(text);
  return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`;
}
