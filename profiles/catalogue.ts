import { amazonLinux2Profile } from "./amzn2/profile.ts";
import { debianProfile } from "./debian/profile.ts";
import { flatcarCloudInitProfile, flatcarProfile } from "./flatcar/profile.ts";
import { rhelProfile } from "./rhel/profile.ts";
import { rockyLinuxProfile } from "./rockylinux/profile.ts";
import type { OsProfile } from "./schema.ts";
import { ubuntuProfile } from "./ubuntu/profile.ts";

/** An OperatingSystemProfile that can be applied to any namespace. */
interface ProfileManifest {
  apiVersion: "operatingsystemmanager.k8c.io/v1alpha1";
  kind: "OperatingSystemProfile";
  metadata: { name: string };
  spec: OsProfile;
}

const profiles: Record<string, () => Promise<OsProfile>> = {
  "osp-ubuntu": ubuntuProfile,
  "osp-debian": debianProfile,
  "osp-rhel": rhelProfile,
  "osp-rockylinux": rockyLinuxProfile,
  "osp-amzn2": amazonLinux2Profile,
  "osp-flatcar": flatcarProfile,
  "osp-flatcar-cloud-init": flatcarCloudInitProfile,
};

/** Returns the default profiles of Ostler; reads their templates from the files beside their code. */
export async function defaultProfiles(): Promise<ProfileManifest[]> {
  return await Promise.all(Object.entries(profiles).map(async ([name, profile]) => manifest(name, await profile())));
}

function manifest(name: string, spec: OsProfile): ProfileManifest {
  return {
    apiVersion: "operatingsystemmanager.k8c.io/v1alpha1",
    kind: "OperatingSystemProfile",
    metadata: { name },
    spec,
  };
}
