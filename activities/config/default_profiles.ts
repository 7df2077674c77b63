/** Decides whether the controller installs a built-in profile over an existing profile of the same name. */
import semver from "semver";
import type { OsProfileObject } from "../kube/resources.ts";

/** Annotation with the version that Ostler installed; a profile without it was not installed by Ostler. */
export const installedAnnotation = "ostler.dev/default-profile";

/**
 * Compares the existing profile with the built-in one, which has version `version`. Returns KeepNewer if Ostler has
 * installed a higher version, Keep if the versions are equal, because people may have edited the existing profile, and
 * otherwise Install, even if Ostler did not install the existing profile.
 */
export function fateOfDefault(
  existing: OsProfileObject | undefined,
  version: string,
): "Install" | "Keep" | "KeepNewer" {
  const installed = semver.valid(existing?.metadata.annotations?.[installedAnnotation]);
  if (installed !== null && semver.gt(installed, version)) return "KeepNewer";
  return (existing?.spec as { version?: unknown } | undefined)?.version === version ? "Keep" : "Install";
}
