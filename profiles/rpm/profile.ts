import { runBootstrap } from "../boot/run_bootstrap.ts";
import { type NodeProfile, nodeProfile } from "../node_profile.ts";
import type { OsProfile } from "../schema.ts";

/** What differs between the systems that install their packages with dnf or yum. */
export interface RpmSystem extends Pick<NodeProfile, "osName" | "osVersion" | "providers" | "parameters"> {
  /** Snippets of this system, in addition to the shared ones or in their place. */
  snippets?: Record<string, string>;
}

/** A profile for a system that installs its packages with dnf or yum. */
export function rpmProfile({ snippets, ...system }: RpmSystem): Promise<OsProfile> {
  return nodeProfile({
    ...system,
    provisioningUtility: "cloud-init",
    boot: {
      snippets: {
        reach_api_server: "rpm/reach_api_server",
        apply: "boot/apply_with_cloud_init",
        go_on: "boot/start_setup",
      },
      start: runBootstrap,
    },
    node: {
      files: [{ path: "/opt/bin/install-packages", template: "rpm/install_packages", permissions: 755 }],
      snippets: {
        prepare: "rpm/prepare",
        trust_cas: "rpm/trust_cas",
        packages: "rpm/packages",
        reboot_upgraded: "node/reboot_upgraded",
        node_name: "node/node_name",
        ...snippets,
      },
    },
  });
}
