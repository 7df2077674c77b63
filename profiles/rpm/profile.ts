import { runBootstrap } from "../boot/run_bootstrap.ts";
import { type NodeProfile, nodeProfile } from "../node_profile.ts";
import type { OsProfile } from "../schema.ts";

/** The differences between systems that install packages with dnf or yum. */
interface RpmSystem extends Pick<NodeProfile, "osName" | "osVersion" | "providers" | "parameters"> {
  /** Snippets of this system, which extend or replace the shared ones. */
  snippets?: Record<string, string>;
}

/** Returns a profile for a system that installs packages with dnf or yum. */
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
