import { type NodeProfile, nodeProfile } from "../node_profile.ts";
import { runBootstrap } from "../boot/run_bootstrap.ts";
import { failCgroupV1, packageMirror } from "../node/parameters.ts";
import type { OsProfile } from "../schema.ts";

/** The differences between systems that install packages with apt. */
interface AptSystem extends Pick<NodeProfile, "osName" | "osVersion"> {
  /** Folders that a package mirror must have, as text for the description of parameter `packageMirror`. */
  mirrored: string;
  /** Path of the template of the shell lines that make the mirror the only source of packages. */
  useMirror: string;
}

const providers = [
  ...["alibaba", "aws", "azure", "baremetal", "digitalocean", "edge", "external", "fake", "gce", "hetzner", "kubevirt"],
  ...["nutanix", "openstack", "vmware-cloud-director", "vsphere"],
];

/** Returns a profile for a system that installs packages with apt. */
export function aptProfile({ mirrored, useMirror, ...system }: AptSystem): Promise<OsProfile> {
  return nodeProfile({
    ...system,
    provisioningUtility: "cloud-init",
    providers,
    parameters: { failCgroupV1, packageMirror: packageMirror(mirrored) },
    boot: {
      snippets: {
        reach_api_server: "apt/reach_api_server",
        apply: "boot/apply_with_cloud_init",
        go_on: "boot/start_setup",
      },
      start: runBootstrap,
    },
    node: {
      files: [
        { path: "/etc/apt/apt.conf.d/95-ostler-proxy", template: "apt/proxy.conf", permissions: 600 },
        { path: "/opt/bin/install-packages", template: "apt/install_packages", permissions: 755 },
      ],
      snippets: {
        prepare: "apt/prepare",
        trust_cas: "apt/trust_cas",
        packages: "apt/packages",
        reboot_upgraded: "node/reboot_upgraded",
        node_name: "node/node_name",
        use_mirror: useMirror,
      },
    },
  });
}
