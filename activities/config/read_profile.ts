/** The profile of a MachineDeployment, with everything that its parents say. */
import { type OsProfile, parseProfile, ProfileRefused, ReferenceMissing, resolveProfile } from "../../profiles/mod.ts";
import type { RefusedType } from "../../workflows/contracts.ts";
import { missing, refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { type ObjectName, profiles, readObject } from "../kube/resources.ts";
import type { MachineDeployment } from "../kube/schemas.ts";
import { ifFound } from "../kube/status.ts";
import { profileRef } from "../pool/profile_ref.ts";

export interface ProfileReader {
  kube: Kube;
  profileNamespace: string;
}

/** Reads it; refuses a name that is missing or leads nowhere, and a profile that cannot be read. */
export async function readProfile(reader: ProfileReader, deployment: MachineDeployment): Promise<OsProfile> {
  const ref = profileRef(deployment, reader.profileNamespace);
  const subject = `"${deployment.metadata.namespace}/${deployment.metadata.name}"`;
  if (!ref) throw refused("ProfileMissing", `Cannot render the config of ${subject}: it names no profile`);
  return await asRefusal(async () => {
    const profile = await find(reader.kube, ref);
    if (profile) return await resolveProfile(profile, (name) => find(reader.kube, { ...ref, name }));
    throw refused(
      "ProfileMissing",
      `Cannot render the config of ${subject}: OperatingSystemProfile "${ref.namespace}/${ref.name}" does not exist`,
    );
  });
}

async function find(kube: Kube, ref: ObjectName): Promise<OsProfile | undefined> {
  const found = await ifFound(readObject(kube, profiles, ref));
  return found && parseProfile(found.spec);
}

/** Turns what only a change of profile or MachineDeployment can mend into the failure that halts a rollout. */
export async function asRefusal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProfileRefused) throw refused(error.reason satisfies RefusedType, error.message);
    if (error instanceof ReferenceMissing) throw missing(error.message);
    throw error;
  }
}
