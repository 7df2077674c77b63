import { failCgroupV1 } from "../node/parameters.ts";
import { rpmProfile } from "../rpm/profile.ts";
import type { OsProfile } from "../schema.ts";

/** Returns the profile of Red Hat Enterprise Linux 9; its packages need a subscription, from Red Hat or a Satellite. */
export function rhelProfile(): Promise<OsProfile> {
  return rpmProfile({
    osName: "rhel",
    osVersion: "9",
    providers: ["aws", "azure", "kubevirt", "openstack", "vsphere"],
    parameters: { failCgroupV1 },
  });
}
