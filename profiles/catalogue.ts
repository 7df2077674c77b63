import type { OsProfile } from "./schema.ts";
import { ubuntuProfile } from "./ubuntu/profile.ts";

/** An OperatingSystemProfile, ready to be applied to any namespace. */
export interface ProfileManifest {
  apiVersion: "operatingsystemmanager.k8c.io/v1alpha1";
  kind: "OperatingSystemProfile";
  metadata: { name: string };
  spec: OsProfile;
}

/** The profiles that come with Ostler; reads their templates from beside their code. */
export async function defaultProfiles(): Promise<ProfileManifest[]> {
  return [manifest("osp-ubuntu", await ubuntuProfile())];
}

function manifest(name: string, spec: OsProfile): ProfileManifest {
  return {
    apiVersion: "operatingsystemmanager.k8c.io/v1alpha1",
    kind: "OperatingSystemProfile",
    metadata: { name },
    spec,
  };
}
