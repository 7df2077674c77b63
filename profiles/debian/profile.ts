import { aptProfile } from "../apt/profile.ts";
import type { OsProfile } from "../schema.ts";

/** Returns the profile of Debian 12. */
export function debianProfile(): Promise<OsProfile> {
  return aptProfile({
    osName: "debian",
    osVersion: "12",
    mirrored: "debian/ and debian-security/",
    useMirror: "debian/use_mirror",
  });
}
