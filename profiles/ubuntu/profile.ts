import { readFile } from "node:fs/promises";
import { type OsFile, type OsProfile, parseProfile } from "../schema.ts";

interface Source {
  path: string;
  /** Beside this module; ends in .eta. */
  template: string;
  permissions: number;
}

const bootstrap: Source[] = [
  { path: "/etc/ostler/boot.env", template: "bootstrap/boot.env", permissions: 644 },
  { path: "/etc/ostler/ca.crt", template: "ca.crt", permissions: 644 },
  { path: "/etc/ostler/proxy.env", template: "bootstrap/proxy.env", permissions: 644 },
  { path: "/etc/apt/apt.conf.d/95-ostler-proxy", template: "bootstrap/apt_proxy", permissions: 644 },
  { path: "/opt/bin/fetch-secret", template: "bootstrap/fetch_secret", permissions: 755 },
  { path: "/opt/bin/bootstrap", template: "bootstrap/bootstrap", permissions: 755 },
  { path: "/etc/systemd/system/bootstrap.service", template: "bootstrap/bootstrap.service", permissions: 644 },
  { path: "/etc/systemd/system/ostler-gave-up@.service", template: "bootstrap/gave_up.service", permissions: 644 },
];

const provisioning: Source[] = [
  { path: "/etc/ostler/setup.env", template: "provisioning/setup.env", permissions: 644 },
  { path: "/etc/systemd/journald.conf.d/90-ostler.conf", template: "provisioning/journald.conf", permissions: 644 },
  { path: "/etc/modules-load.d/90-ostler.conf", template: "provisioning/modules.conf", permissions: 644 },
  { path: "/etc/sysctl.d/90-ostler.conf", template: "provisioning/sysctl.conf", permissions: 644 },
  { path: "/opt/bin/install-packages", template: "provisioning/install_packages", permissions: 755 },
  { path: "/opt/bin/install-binaries", template: "provisioning/install_binaries", permissions: 755 },
  { path: "/opt/bin/node-address", template: "provisioning/node_address", permissions: 755 },
  { path: "/opt/bin/setup", template: "provisioning/setup", permissions: 755 },
  { path: "/etc/systemd/system/setup.service", template: "provisioning/setup.service", permissions: 644 },
  { path: "/etc/systemd/system/kubelet.service", template: "provisioning/kubelet.service", permissions: 600 },
  { path: "/etc/kubernetes/kubelet.conf", template: "provisioning/kubelet.conf", permissions: 600 },
  { path: "/etc/kubernetes/pki/ca.crt", template: "ca.crt", permissions: 644 },
  { path: "/etc/profile.d/90-ostler-path.sh", template: "provisioning/path.sh", permissions: 644 },
];

const containerd: Source[] = [
  { path: "/etc/systemd/system/containerd.service", template: "containerd/containerd.service", permissions: 644 },
  { path: "/etc/crictl.yaml", template: "containerd/crictl.yaml", permissions: 644 },
  { path: "/etc/containerd/config.toml", template: "containerd/config.toml", permissions: 600 },
];

const providers = [
  ...["alibaba", "aws", "azure", "baremetal", "digitalocean", "edge", "external", "fake", "gce", "hetzner", "kubevirt"],
  ...["nutanix", "openstack", "vmware-cloud-director", "vsphere"],
];

/** Ubuntu 24.04 for two-phase boot: the first phase fetches the second, which makes the machine a node. */
export async function ubuntuProfile(): Promise<OsProfile> {
  return parseProfile({
    osName: "ubuntu",
    osVersion: "24.04",
    version: "v1.0.0",
    templating: "eta",
    provisioningUtility: "cloud-init",
    supportedCloudProviders: providers.map((name) => ({ name })),
    bootstrapConfig: {
      files: await readFiles(bootstrap),
      modules: { runcmd: ["systemctl daemon-reload", "systemctl enable --now --no-block bootstrap.service"] },
    },
    provisioningConfig: {
      supportedContainerRuntimes: [{ name: "containerd", files: await readFiles(containerd) }],
      files: await readFiles(provisioning),
    },
  });
}

async function readFiles(sources: Source[]): Promise<OsFile[]> {
  return await Promise.all(sources.map(async ({ path, template, permissions }) => {
    const data = await readFile(new URL(`./${template}.eta`, import.meta.url), "utf8");
    return { path, permissions, content: { inline: { encoding: "b64", data } } };
  }));
}
