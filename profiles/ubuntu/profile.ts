import { aptProfile } from "../apt/profile.ts";
import type { OsProfile } from "../schema.ts";

/** Returns the profile of Ubuntu 24.04. */
export function ubuntuProfile(): Promise<OsProfile> {
  return aptProfile({
    osName: "ubuntu",
    osVersion: "24.04",
    mirrored: "ubuntu/ and, for arm64, ubuntu-ports/",
    useMirror: "ubuntu/use_mirror",
  });
}
