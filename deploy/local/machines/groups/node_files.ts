/**
 * The node files that the image of a scaling group would contain, rendered from the Debian profile; files that differ
 * between machines are not among them.
 */
import { defaultProfiles, readNodeSettings, renderConfig } from "../../../../profiles/mod.ts";

/** A file in the format of cloud-init. */
export interface BootFile {
  path: string;
  /** Permissions in octal digits. */
  permissions: string;
  content: string;
}

interface NodeFilesOptions {
  /** Kubelet version without a leading "v". */
  kubelet: string;
  cluster: { apiServer: string; caPem: string };
  /** Settings of Ostler, by environment variable. */
  settings: Readonly<Record<string, string>>;
  /** Annotations that configure kubelets on this host; MachineDeployments on this host have the same annotations. */
  annotations: Readonly<Record<string, string>>;
}

/**
 * Files of the profile that are left out: they fetch the provisioning config, install packages and send boot reports.
 * Machines of groups do none of this: their user-data already contains all files.
 */
const unused = [
  "/etc/ostler/token",
  "/opt/bin/setup",
  "/opt/bin/install-packages",
  "/etc/systemd/system/setup.service",
];
const noSecrets = { token: "", bootstrapKubeconfig: "", registryAuths: {}, references: {}, seed: "groups" };

/** Returns the files of containerd, the kubelet and their installer; none of them is secret. */
export async function nodeFiles({ kubelet, cluster, settings, annotations }: NodeFilesOptions): Promise<BootFile[]> {
  const profile = (await defaultProfiles()).find(({ metadata }) => metadata.name === "osp-debian")?.spec;
  if (profile === undefined) {
    throw new Error('Failed to render files for machines of groups: profile "osp-debian" does not exist');
  }
  const noFiles = (path: string): never => {
    throw new Error(`Failed to read "${path}": machines of groups do not support settings in files`);
  };
  const { provisioningConfig } = await renderConfig(profile, {
    deployment: { namespace: "kube-system", name: "groups", annotations: { ...annotations }, kubelet },
    provider: { cloudProvider: "external", cloudProviderSpec: {}, operatingSystem: "debian", operatingSystemSpec: {} },
    ...{ cluster, settings: readNodeSettings({ env: settings }, noFiles).settings, secrets: noSecrets },
  });
  return provisioningConfig.files.filter(({ path }) => !unused.includes(path)).map(({ path, permissions, content }) => {
    return { path, permissions: String(permissions).padStart(4, "0"), content: content.inline.data };
  });
}
