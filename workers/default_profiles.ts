/** Installs the profiles that come with Ostler. */
import { defaultProfiles } from "../profiles/mod.ts";
import type { Kube } from "../activities/kube/client.ts";
import { createObject, profiles, readObject, replaceObject } from "../activities/kube/resources.ts";
import { attempting, ifFound } from "../activities/kube/status.ts";

/** Creates missing profiles and replaces those of another version; edits under the same version stay. */
export async function installDefaultProfiles(kube: Kube, namespace: string): Promise<void> {
  for (const profile of await defaultProfiles()) {
    const { name } = profile.metadata;
    await attempting(`install profile "${name}"`, async () => {
      const existing = await ifFound(readObject(kube, profiles, { name, namespace }));
      if (!existing) return await createObject(kube, profiles, { ...profile, metadata: { name, namespace } });
      const { version } = existing.spec as { version?: string };
      if (version === profile.spec.version) return;
      // Replaced whole: of a profile by others of this name, such as Operating System Manager's, nothing may stay.
      await replaceObject(kube, profiles, { ...profile, metadata: { ...existing.metadata } });
    });
  }
}
