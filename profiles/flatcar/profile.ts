import { failCgroupV1 } from "../node/parameters.ts";
import { type Additions, nodeProfile } from "../node_profile.ts";
import type { OsProfile } from "../schema.ts";

const boot: Additions = {
  files: [
    { path: "/etc/systemd/network/10-ostler-static.network", template: "flatcar/static.network", permissions: 644 },
  ],
  snippets: {
    reach_api_server: "flatcar/reach_api_server",
    cloud_director_network: "flatcar/cloud_director_network",
  },
  // The text of every unit is among the files, because the units of a profile are not templates.
  start: { units: [{ name: "bootstrap.service", enable: true }] },
};

const routerAdvertisements = "/etc/systemd/network/zz-default.network.d/90-ostler.conf";
const updateEngineProxy = "/etc/systemd/system/update-engine.service.d/90-ostler.conf";

const node: Additions = {
  files: [
    { path: updateEngineProxy, template: "flatcar/update_engine_proxy.conf", permissions: 600 },
    { path: routerAdvertisements, template: "flatcar/router_advertisements.conf", permissions: 644 },
    { path: "/etc/ssh/sshd_config.d/10-ostler.conf", template: "flatcar/sshd.conf", permissions: 600 },
  ],
  snippets: {
    prepare: "flatcar/prepare",
    trust_cas: "flatcar/trust_cas",
    packages: "flatcar/packages",
    node_name: "flatcar/node_name",
  },
};

const system = { osName: "flatcar" as const, osVersion: "4230.2.0", parameters: { failCgroupV1 } };

/** Returns the profile of Flatcar with Ignition, which runs again after a reboot for the second phase. */
export function flatcarProfile(): Promise<OsProfile> {
  return nodeProfile({
    ...system,
    provisioningUtility: "ignition",
    providers: ["aws", "azure", "gce", "kubevirt", "openstack", "vmware-cloud-director", "vsphere"],
    boot: {
      ...boot,
      snippets: { ...boot.snippets, apply: "flatcar/apply_with_ignition", go_on: "flatcar/reboot" },
    },
    node: { ...node, start: { units: [{ name: "setup.service", enable: true }] } },
  });
}

/** Returns the profile of Flatcar with coreos-cloudinit, which can apply the second phase without a reboot. */
export function flatcarCloudInitProfile(): Promise<OsProfile> {
  return nodeProfile({
    ...system,
    provisioningUtility: "cloud-init",
    providers: ["anexia"],
    boot: {
      ...boot,
      snippets: { ...boot.snippets, apply: "flatcar/apply_with_coreos_cloudinit", go_on: "boot/start_setup" },
    },
    node,
  });
}
