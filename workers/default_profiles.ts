/** Installs the profiles that come with Ostler. */
import type { Logger } from "@temporalio/common";
import semver from "semver";
import { defaultProfiles } from "../profiles/mod.ts";
import type { Kube } from "../activities/kube/client.ts";
import { createObject, profiles, readObject, replaceObject } from "../activities/kube/resources.ts";
import type { OsProfileObject } from "../activities/kube/schemas.ts";
import { attempting, ifFound } from "../activities/kube/status.ts";

type DefaultProfile = Awaited<ReturnType<typeof defaultProfiles>>[number];

/** The version that we installed; a profile without it is somebody else's. */
const installedAnnotation = "ostler.dev/default-profile";

/**
 * Creates missing profiles and replaces those of another version, also somebody else's; edits under the same version
 * stay, and so does what a newer Ostler installed.
 */
export async function installDefaultProfiles(
  kube: Kube,
  namespace: string,
  log: Pick<Logger, "info">,
): Promise<void> {
  for (const profile of await defaultProfiles()) {
    const { name } = profile.metadata;
    await attempting(`install profile "${name}"`, async () => {
      const existing = await ifFound(readObject(kube, profiles, { name, namespace }));
      const newer = existing && newerInstalled(existing, profile);
      if (newer) return log.info("Leaving a default profile that a newer Ostler installed", { name, version: newer });
      await install(kube, { profile, namespace, existing });
    });
  }
}

function newerInstalled({ metadata }: OsProfileObject, { spec }: DefaultProfile): string | undefined {
  const installed = semver.valid(metadata.annotations?.[installedAnnotation]);
  return installed !== null && semver.gt(installed, spec.version) ? `v${installed}` : undefined;
}

async function install(
  kube: Kube,
  { profile, namespace, existing }: {
    profile: DefaultProfile;
    namespace: string;
    existing: OsProfileObject | undefined;
  },
): Promise<void> {
  const { name } = profile.metadata;
  const { version } = profile.spec;
  const annotations = { ...existing?.metadata.annotations, [installedAnnotation]: version };
  const wanted = { ...profile, metadata: { ...existing?.metadata, name, namespace, annotations } };
  if (!existing) return void await createObject(kube, profiles, wanted);
  if ((existing.spec as { version?: string }).version === version) return;
  // Replaced whole: of a profile by others of this name, such as Operating System Manager's, nothing may stay.
  await replaceObject(kube, profiles, wanted);
}
