import { readFile } from "node:fs/promises";
import { type OsFile, type OsProfile, parseProfile, type ProfilePhase } from "./schema.ts";

/** A file on the machine. */
interface NodeFile {
  path: string;
  /** Path relative to this module, without `.eta`. */
  template: string;
  /** Octal digits written as a decimal number, such as 644. */
  permissions: number;
}

/** Additions of an operating system to the shared files: its own files, and snippets that files include by name. */
export interface Additions {
  files?: NodeFile[];
  /** Paths of templates, as in `NodeFile`, by the name of the snippet. */
  snippets: Record<string, string>;
  /** Units or modules that start the phase. */
  start?: Pick<ProfilePhase, "units" | "modules">;
}

/** Everything that differs between Ostler's own profiles. */
export interface NodeProfile extends Pick<OsProfile, "osName" | "osVersion" | "provisioningUtility"> {
  providers: string[];
  parameters: NonNullable<OsProfile["parameters"]>;
  boot: Additions;
  node: Additions;
}

/** The version of all of Ostler's own profiles, which share most of their files. */
const version = "v1.3.0";

const bootFiles: NodeFile[] = [
  { path: "/etc/ostler/boot.env", template: "boot/boot.env", permissions: 644 },
  { path: "/etc/ostler/ca.crt", template: "boot/ca.crt", permissions: 644 },
  { path: "/etc/ostler/proxy.env", template: "boot/proxy.env", permissions: 600 },
  { path: "/etc/ostler/token", template: "boot/token", permissions: 600 },
  { path: "/opt/bin/kube-api", template: "boot/kube_api", permissions: 755 },
  { path: "/opt/bin/boot-report", template: "boot/boot_report", permissions: 755 },
  { path: "/opt/bin/fetch-secret", template: "boot/fetch_secret", permissions: 755 },
  { path: "/opt/bin/run-phase", template: "boot/run_phase", permissions: 755 },
  { path: "/opt/bin/bootstrap", template: "boot/bootstrap", permissions: 755 },
  { path: "/etc/systemd/system/bootstrap.service", template: "boot/bootstrap.service", permissions: 644 },
];

const nodeFiles: NodeFile[] = [
  { path: "/etc/ostler/token", template: "boot/token", permissions: 600 },
  { path: "/etc/ostler/setup.env", template: "node/setup.env", permissions: 600 },
  { path: "/etc/ostler/host-ca.crt", template: "node/host_ca.crt", permissions: 644 },
  { path: "/etc/systemd/journald.conf.d/90-ostler.conf", template: "node/journald.conf", permissions: 644 },
  { path: "/etc/modules-load.d/90-ostler.conf", template: "node/modules.conf", permissions: 644 },
  { path: "/etc/sysctl.d/90-ostler.conf", template: "node/sysctl.conf", permissions: 644 },
  { path: "/etc/ostler/digests", template: "node/digests", permissions: 644 },
  { path: "/opt/bin/install-binaries", template: "node/install_binaries", permissions: 755 },
  { path: "/opt/bin/node-address", template: "node/node_address", permissions: 755 },
  { path: "/opt/bin/boot-cause", template: "node/boot_cause", permissions: 755 },
  { path: "/opt/bin/setup", template: "node/setup", permissions: 755 },
  { path: "/etc/systemd/system/setup.service", template: "node/setup.service", permissions: 644 },
  { path: "/etc/systemd/system/kubelet.service", template: "node/kubelet.service", permissions: 600 },
  { path: "/etc/kubernetes/kubelet.conf", template: "node/kubelet.conf", permissions: 600 },
  { path: "/etc/kubernetes/pki/ca.crt", template: "boot/ca.crt", permissions: 644 },
  { path: "/etc/profile.d/90-ostler-path.sh", template: "node/path.sh", permissions: 644 },
];

const containerdFiles: NodeFile[] = [
  { path: "/etc/systemd/system/containerd.service", template: "node/containerd.service", permissions: 644 },
  { path: "/etc/crictl.yaml", template: "node/crictl.yaml", permissions: 644 },
  { path: "/etc/containerd/config.toml", template: "node/config.toml", permissions: 600 },
];

/** Returns a profile for two-phase boot: the first phase fetches the second, which turns the machine into a node. */
export async function nodeProfile({ providers, boot, node, ...system }: NodeProfile): Promise<OsProfile> {
  return parseProfile({
    ...system,
    version,
    templating: "eta",
    supportedCloudProviders: providers.map((name) => ({ name })),
    bootstrapConfig: await phaseOf(bootFiles, boot),
    provisioningConfig: {
      supportedContainerRuntimes: [{ name: "containerd", files: await readFiles(containerdFiles) }],
      ...await phaseOf(nodeFiles, node),
    },
  });
}

async function phaseOf(shared: NodeFile[], { files = [], snippets, start }: Additions): Promise<ProfilePhase> {
  const texts = Object.entries(snippets).map(async ([name, template]) => [name, await readTemplate(template)] as const);
  return {
    templates: Object.fromEntries(await Promise.all(texts)),
    files: await readFiles([...shared, ...files]),
    ...start,
  };
}

function readFiles(files: NodeFile[]): Promise<OsFile[]> {
  return Promise.all(files.map(async ({ path, template, permissions }) => ({
    path,
    permissions,
    content: { inline: { encoding: "b64", data: await readTemplate(template) } },
  })));
}

function readTemplate(template: string): Promise<string> {
  return readFile(new URL(`./${template}.eta`, import.meta.url), "utf8");
}
