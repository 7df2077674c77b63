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
  ProfileRefused,
  referencesOf,
  type RefusalReason,
  renderConfig,
  type RenderFacts,
  userDataFacts,
} from "../profiles/mod.ts";
import { TemplateFault } from "../profiles/engines/template_engine.ts";
import { flagOf } from "../profiles/settings/setting.ts";
import type { DeploymentFile } from "./deployment_file.ts";
import type { NamedProfile } from "./profile_library.ts";
import { ignitionPlace, refusalPlace } from "./template_place.ts";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./usage_error.ts";
import { type FieldPath, placeText } from "./yaml_file.ts";

export const phases: readonly Phase[] = ["bootstrap", "provisioning"];

/** The files that the machines of one MachineDeployment would boot with; placeholders replace secrets. */
export interface Rendering {
  profile: { name: string; version: string };
  deployment: DeploymentFile;
  config: OsConfig;
  /**
   * Equals the digest in the cluster if API server, CA and settings are the same, and machines boot with no long-lived
   * secret, such as a registry login.
   */
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
 * Renders without a cluster. Throws UsageError with the line in the profile if a template fails, or if Ignition cannot
 * express a file or unit. Throws ProfileRefused for every other refusal, where possible with the line of the field in
 * the MachineDeployment.
 */
export async function renderMachines(
  { name, profile, family }: NamedProfile,
  file: DeploymentFile,
  settings: NodeSettings,
): Promise<Rendering> {
  const facts = factsOf(file, settings);
  const { provider } = file;
  const { operatingSystem, operatingSystemSpec, network } = provider;
  const fit = { operatingSystem, provider: provider.cloudProvider, operatingSystemSpec, network };
  const render = async (): Promise<OsConfig> => {
    checkProfileFits(profile, fit);
    return await renderConfig(profile, hideSecrets(facts));
  };
  const config = await render().catch((error) => {
    throw error.cause instanceof TemplateFault
      ? new UsageError(`${placeText(refusalPlace(family, error))}: ${error.message}`)
      : placed(error, file);
  });
  const userData = (phase: Phase): string => {
    try {
      return generateUserData(config, phase, userDataFacts(facts));
    } catch (error) {
      const place = error instanceof ProfileRefused ? ignitionPlace(family, error.message) : undefined;
      throw place ? new UsageError(`${placeText(place)}: ${(error as Error).message}`) : error;
    }
  };
  return {
    profile: { name, version: profile.version },
    deployment: file,
    config,
    digest: configDigest(config, facts),
    userData: { bootstrap: userData("bootstrap"), provisioning: userData("provisioning") },
    ignoredSettings: ignoredOf(settings),
  };
}

const value = ["spec", "template", "spec", "providerSpec", "value"];

/** The field of a MachineDeployment that causes a refusal, by its reason. */
const deciding: Partial<Record<RefusalReason, FieldPath>> = {
  KubeletVersionInvalid: ["spec", "template", "spec", "versions", "kubelet"],
  KubeletSettingsInvalid: ["metadata", "annotations"],
  ParameterInvalid: ["metadata", "annotations"],
  OperatingSystemMismatch: [...value, "operatingSystem"],
  ProviderUnsupported: [...value, "cloudProvider"],
  UtilityMismatch: [...value, "operatingSystemSpec"],
  ProviderConfigInvalid: [...value, "network"],
  CloudConfigInvalid: [...value, "cloudProviderSpec"],
};

/** Returns a refusal with the line of the field that causes it; returns other errors unchanged. */
function placed(error: unknown, { placeOf }: DeploymentFile): unknown {
  const path = error instanceof ProfileRefused ? deciding[error.reason] : undefined;
  if (!(error instanceof ProfileRefused) || path === undefined) return error;
  return new ProfileRefused(error.reason, `${placeText(placeOf(path))}: ${error.message}`, { cause: error });
}

/** Settings that refer to objects in a cluster. */
const clusterSettings = ["nodeRegistryCredentialsSecret", "bootstrapTokenServiceAccountName"] as const;

function ignoredOf(settings: NodeSettings): string[] {
  return clusterSettings.filter((name) => settings[name] !== "").map(flagOf);
}

/** Warns, in one line, of settings that have no effect without a cluster. */
export function warnOfIgnored({ err }: Terminal, ignored: readonly string[]): void {
  const flags = [...new Set(ignored)].map((flag) => `--${flag}`).join(", ");
  if (flags !== "") err(`ignored, because these settings need a cluster: ${flags}\n`);
}

function factsOf({ deployment, provider }: DeploymentFile, settings: NodeSettings): RenderFacts {
  const cluster = { ...placeholderCluster, caPem: settings.kubernetesCaBundle || placeholderCluster.caPem };
  const facts = { deployment, provider, cluster, settings, secrets: noSecrets };
  // The config file of the cloud provider can take values from Secrets, ConfigMaps or the environment of Ostler's
  // worker, which are unknown without a cluster. A placeholder then replaces the file; a rendering never shows the text
  // of this file anyway.
  const isElsewhere = referencesOf(facts).length > 0;
  return isElsewhere ? { ...facts, provider: { ...provider, overwriteCloudConfig: hidden } } : facts;
}

/** Returns the size of a text, such as `12.3 KiB`. */
export function sizeText(text: string): string {
  const bytes = bytesOf(text);
  return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`;
}
