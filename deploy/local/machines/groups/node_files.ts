/** What an image of such a cloud brings along for a node, but for what is the machine's own: here as the profile of Debian has it. */
import { defaultProfiles, readNodeSettings, renderConfig } from "../../../../profiles/mod.ts";

/** A file, in the words of cloud-init. */
export interface BootFile {
  path: string;
  /** Octal digits. */
  permissions: string;
  content: string;
}

export interface NodeFilesOptions {
  /** Without a leading "v". */
  kubelet: string;
  cluster: { apiServer: string; caPem: string };
  /** Ostler's settings, by environment variable. */
  settings: Readonly<Record<string, string>>;
  /** Those of pools on the same host. */
  annotations: Readonly<Record<string, string>>;
}

/** What fetches the rest, and reports: these machines are given all at once, and ask nobody but the join service. */
const unused = [
  "/etc/ostler/token",
  "/opt/bin/setup",
  "/opt/bin/install-packages",
  "/etc/systemd/system/setup.service",
];
const noSecrets = { token: "", bootstrapKubeconfig: "", registryAuths: {}, references: {}, seed: "groups" };

/** Files of containerd, kubelet and what installs them; none of them is secret. */
export async function nodeFiles({ kubelet, cluster, settings, annotations }: NodeFilesOptions): Promise<BootFile[]> {
  const profile = (await defaultProfiles()).find(({ metadata }) => metadata.name === "osp-debian")?.spec;
  if (profile === undefined) throw new Error('Cannot make machines of groups: there is no profile "osp-debian"');
  const noFiles = (path: string): never => {
    throw new Error(`Cannot read "${path}": machines of groups have no settings in files`);
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
