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

/** The files that the machines of one MachineDeployment would boot with; placeholders replace secrets. */
export interface Rendering {
  profile: { name: string; version: string };
  deployment: DeploymentFile;
  config: OsConfig;
  /** Equals the digest in the cluster if address, CA and settings are the same and no long-lived secret is used. */
  digest: string;
  userData: Record<Phase, string>;
  /** Flags of settings that were given and have no effect without a cluster. */
  ignoredSettings: string[];
}

// Placeholders, because these facts are unknown without a cluster; `--override-bootstrap-kubelet-apiserver` and
// `--kubernetes-ca-bundle` set them.
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

/**
 * Renders without a cluster; throws ProfileRefused for a profile that can never render, and UsageError with the line of
 * a template.
 */
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

/** Settings that refer to objects in a cluster. */
const clusterSettings = ["nodeRegistryCredentialsSecret", "bootstrapTokenServiceAccountName"] as const;

function ignoredOf(settings: NodeSettings): string[] {
  return clusterSettings.filter((name) => settings[name] !== "").map(flagOf);
}

/** Warns once of settings that do not affect renderings. */
export function warnOfIgnored({ err }: Terminal, ignored: readonly string[]): void {
  const flags = [...new Set(ignored)].map((flag) => `--${flag}`).join(", ");
  if (flags !== "") err(`ignored, because these settings need a cluster: ${flags}\n`);
}

function factsOf({ deployment, provider }: DeploymentFile, settings: NodeSettings): RenderFacts {
  const cluster = { ...placeholderCluster, caPem: settings.kubernetesCaBundle || placeholderCluster.caPem };
  const facts = { deployment, provider, cluster, settings, secrets: noSecrets };
  // A cloud-config may refer to Secrets and to the environment of a worker, and is hidden in any case.
  const isElsewhere = referencesOf(facts).length > 0;
  return isElsewhere ? { ...facts, provider: { ...provider, overwriteCloudConfig: hidden } } : facts;
}

/** Returns the size of a text, such as `12.3 KiB`. */
export function sizeText(text: string): string {
  const bytes = bytesOf(text);
  return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`;
}
