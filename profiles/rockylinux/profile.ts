import { failCgroupV1, packageMirror } from "../node/parameters.ts";
import { rpmProfile } from "../rpm/profile.ts";
import type { OsProfile } from "../schema.ts";

/** Returns the profile of Rocky Linux 9. */
export function rockyLinuxProfile(): Promise<OsProfile> {
  return rpmProfile({
    osName: "rockylinux",
    osVersion: "9",
    providers: ["aws", "azure", "digitalocean", "hetzner", "kubevirt", "openstack", "vsphere"],
    parameters: { failCgroupV1, packageMirror: packageMirror("rocky/9/") },
    snippets: { use_mirror: "rockylinux/use_mirror" },
  });
}
