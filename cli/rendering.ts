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
import type { DeploymentFile } from "./deployment_file.ts";
import type { NamedProfile } from "./profile_library.ts";
import { refusalPlace } from "./template_place.ts";
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
  };
}

function factsOf({ deployment, provider }: DeploymentFile, settings: NodeSettings): RenderFacts {
  const facts = { deployment, provider, cluster: placeholderCluster, settings, secrets: noSecrets };
  // What a cloud-config says may stand in Secrets and in the environment of a worker, and is hidden here anyhow.
  const isElsewhere = referencesOf(facts).length > 0;
  return isElsewhere ? { ...facts, provider: { ...provider, overwriteCloudConfig: hidden } } : facts;
}

/** `12.3 KiB`. */
export function sizeText(text: string): string {
  const bytes = bytesOf(text);
  return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`;
}
