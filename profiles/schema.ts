import { z } from "zod";
import { faultsOf, ProfileRefused } from "./refusal.ts";

// SemVer 2.0 with a leading v; Operating System Manager forgets to anchor it at the start.
const profileVersion =
  /^v(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

/** Every provider a profile may name (OSM's enumeration). */
export const cloudProviders = [
  ...["aws", "azure", "digitalocean", "edge", "gce", "hetzner", "kubevirt", "linode", "nutanix", "openstack"],
  ...["vsphere", "fake", "alibaba", "anexia", "scaleway", "baremetal", "external", "vmware-cloud-director"],
  "opennebula",
];

/** A file: `permissions` are octal digits in a decimal number (644), `encoding: b64` says how user-data carries it. */
export const OsFile = z.strictObject({
  path: z.string().startsWith("/", "must be absolute"),
  permissions: z.int().refine((mode) => /^[0-7]{1,4}$/.test(String(mode)), "must be octal digits, such as 644")
    .default(644),
  content: z.strictObject({
    inline: z.strictObject({ encoding: z.string().optional(), data: z.string() }),
  }),
});
export type OsFile = z.infer<typeof OsFile>;

export const OsUnit = z.strictObject({
  name: z.string().min(1),
  enable: z.boolean().optional(),
  mask: z.boolean().optional(),
  content: z.string().optional(),
  dropIns: z.array(z.strictObject({ name: z.string().min(1), content: z.string() })).optional(),
});
export type OsUnit = z.infer<typeof OsUnit>;

const settings = z.record(z.string(), z.string());

export const CloudInitModules = z.strictObject({
  bootcmd: z.array(z.string()).optional(),
  runcmd: z.array(z.string()).optional(),
  rh_subscription: settings.optional(),
  yum_repos: z.record(z.string(), settings).optional(),
  yum_repo_dir: z.string().optional(),
});
export type CloudInitModules = z.infer<typeof CloudInitModules>;

/** What a profile says about one phase; text in files and snippets is template source. */
export const ProfilePhase = z.strictObject({
  supportedContainerRuntimes: z.array(z.strictObject({
    name: z.enum(["docker", "containerd"]),
    files: z.array(OsFile),
    templates: settings.optional(),
  })).optional(),
  templates: settings.optional(),
  units: z.array(OsUnit).optional(),
  files: z.array(OsFile).optional(),
  modules: CloudInitModules.optional(),
});
export type ProfilePhase = z.infer<typeof ProfilePhase>;

/** The `.spec` of an OperatingSystemProfile: OSM's shape, and `templating`, which OSM's profiles lack. */
export const OsProfile = z.strictObject({
  osName: z.enum(["flatcar", "rhel", "ubuntu", "amzn2", "rockylinux"]),
  osVersion: z.string(),
  version: z.string().regex(profileVersion, "must be SemVer with a leading v, such as v1.0.0"),
  templating: z.enum(["go", "eta"]).default("go"),
  provisioningUtility: z.enum(["cloud-init", "ignition"]).default("cloud-init"),
  supportedCloudProviders: z.array(z.strictObject({
    name: z.enum(cloudProviders),
    spec: z.looseObject({}).optional(),
  })),
  bootstrapConfig: ProfilePhase,
  provisioningConfig: ProfilePhase,
});
export type OsProfile = z.infer<typeof OsProfile>;

/** Reads the `.spec` of an OperatingSystemProfile; throws ProfileRefused (ProfileInvalid) naming the field. */
export function parseProfile(spec: unknown): OsProfile {
  const parsed = OsProfile.safeParse(spec);
  if (parsed.success) return parsed.data;
  throw new ProfileRefused("ProfileInvalid", `Cannot read the profile: ${faultsOf(parsed.error, "spec")}`);
}
