/** Decides whether the controller installs a built-in profile over an existing profile of the same name. */
import semver from "semver";
import type { OsProfileObject } from "../kube/resources.ts";

/** Annotation with the version that Ostler installed; a profile without it was not installed by Ostler. */
export const installedAnnotation = "ostler.dev/default-profile";

/**
 * Returns Install if a built-in profile of version `version` is created, or replaces the existing profile: if its
 * version differs, even if Ostler did not install it. Returns KeepNewer for a profile that a newer Ostler installed, and
 * Keep for a profile with the same version, which people may have edited.
 */
export function fateOfDefault(
  existing: OsProfileObject | undefined,
  version: string,
): "Install" | "Keep" | "KeepNewer" {
  const installed = semver.valid(existing?.metadata.annotations?.[installedAnnotation]);
  if (installed !== null && semver.gt(installed, version)) return "KeepNewer";
  return (existing?.spec as { version?: unknown } | undefined)?.version === version ? "Keep" : "Install";
}
