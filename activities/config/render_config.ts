/** Renders the config of a MachineDeployment from its profile; nothing of it is a secret. */
import { Buffer } from "node:buffer";
import type { PoolRef, RefusedType, Rendering } from "../../workflows/contracts.ts";
import {
  checkProfileFits,
  configDigest,
  normaliseKubeletVersion,
  parseKubeletAnnotations,
  parseProfile,
  ProfileRefused,
  renderConfig as render,
} from "../../profiles/mod.ts";
import type { OsConfig, OsProfile, RenderInput } from "../../profiles/mod.ts";
import { moot, refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { machineDeployments, profiles, readObject } from "../kube/resources.ts";
import type { MachineDeployment } from "../kube/schemas.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { profileRef } from "../pool/profile_ref.ts";
import { readClusterInfo } from "./cluster_info.ts";
import type { ClusterInfo } from "./cluster_info.ts";
import { namesOf, secretsNamespace } from "./names.ts";
import { providerConfigOf } from "./provider_config.ts";
import type { ProviderConfig } from "./provider_config.ts";

/** What an administrator sets for all machines of a cluster. */
export interface NodeSettings {
  clusterDns: string[];
  clusterDomain: string;
  externalCloudProvider: boolean;
  initialTaints: string;
  httpProxy: string;
  noProxy: string;
  pauseImage: string;
  /** Base URL of every download; empty takes the public one. */
  binariesUrl: string;
}

export interface Renderer {
  kube: Kube;
  profileNamespace: string;
  settings: NodeSettings;
}

/** A rendered config with the facts around it; stays inside one activity. */
export interface RenderedPool {
  deployment: MachineDeployment;
  config: OsConfig;
  digest: string;
  profileVersion: string;
  cluster: ClusterInfo;
}

/** Renders and returns names and sizes only. */
export async function renderConfig(renderer: Renderer, pool: PoolRef): Promise<Rendering> {
  const { config, digest, profileVersion } = await renderPool(renderer, pool);
  const files = config.bootstrapConfig.files.length + config.provisioningConfig.files.length;
  return { configDigest: digest, profileVersion, files, bytes: Buffer.byteLength(JSON.stringify(config)) };
}

/** Renders the config as it is desired now. */
export function renderPool(renderer: Renderer, pool: PoolRef): Promise<RenderedPool> {
  return attempting(`render the config of "${pool.namespace}/${pool.name}"`, async () => {
    const { kube } = renderer;
    const deployment = await ifFound(readObject(kube, machineDeployments, pool));
    if (!deployment) throw moot("GenerationStale", `Cannot render the config of "${pool.name}": it is gone`);
    const cluster = await readClusterInfo(kube);
    const profile = await readProfile(renderer, deployment);
    return await asRefusal(() => renderWith(renderer, { deployment, profile, cluster }));
  });
}

async function renderWith(
  { settings }: Renderer,
  { deployment, profile, cluster }: { deployment: MachineDeployment; profile: OsProfile; cluster: ClusterInfo },
): Promise<RenderedPool> {
  const provider = providerConfigOf(deployment);
  checkProfileFits(profile, { operatingSystem: provider.operatingSystem, provider: provider.cloudProvider });
  const config = await render(profile, inputOf({ deployment, provider, settings, cluster }));
  return { deployment, config, digest: configDigest(config), profileVersion: profile.version, cluster };
}

function inputOf(
  { deployment, provider, settings, cluster }: {
    deployment: MachineDeployment;
    provider: ProviderConfig;
    settings: NodeSettings;
    cluster: ClusterInfo;
  },
): RenderInput {
  const { namespace, name, annotations = {} } = deployment.metadata;
  const names = namesOf({ namespace, name });
  return {
    ...{ namespace, name },
    kubelet: normaliseKubeletVersion(deployment.spec.template?.spec?.versions?.kubelet ?? ""),
    cluster: { ...cluster, dnsIPs: settings.clusterDns, domain: settings.clusterDomain },
    provider: { name: provider.cloudProvider, external: settings.externalCloudProvider },
    operatingSystem: provider.operatingSystem,
    containerRuntime: "containerd",
    secretName: names.provisioning,
    secretNamespace: secretsNamespace,
    bootstrapKubeconfigSecret: names.kubeletBootstrap,
    sshKeys: provider.sshPublicKeys ?? [],
    network: { ipFamily: provider.network?.ipFamily ?? "" },
    taints: settings.initialTaints,
    proxy: { http: settings.httpProxy, no: settings.noProxy },
    kubeletSettings: parseKubeletAnnotations(annotations),
    binaries: settings.binariesUrl ? { baseUrl: settings.binariesUrl } : {},
    pauseImage: settings.pauseImage,
    distUpgradeOnBoot: provider.operatingSystemSpec?.distUpgradeOnBoot ?? false,
  };
}

async function readProfile(renderer: Renderer, deployment: MachineDeployment): Promise<OsProfile> {
  const ref = profileRef(deployment, renderer.profileNamespace);
  const subject = `"${deployment.metadata.namespace}/${deployment.metadata.name}"`;
  if (!ref) throw refused("ProfileMissing", `Cannot render the config of ${subject}: it names no profile`);
  const found = await ifFound(readObject(renderer.kube, profiles, ref));
  if (!found) {
    throw refused(
      "ProfileMissing",
      `Cannot render the config of ${subject}: OperatingSystemProfile "${ref.namespace}/${ref.name}" does not exist`,
    );
  }
  return await asRefusal(() => Promise.resolve(parseProfile(found.spec)));
}

async function asRefusal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProfileRefused) throw refused(error.reason satisfies RefusedType, error.message);
    throw error;
  }
}
