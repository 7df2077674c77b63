import { definedTwice, type FileEntry, ignitionEntries, ignitionJson, ignitionRefused } from "./ignition_entries.ts";
import type { UserDataRequest } from "./user_data_generator.ts";

/**
 * Returns Ignition 3.3.0, which Flatcar since 3185, Fedora CoreOS and every later Ignition support. The machine gets
 * the same keys, files and units as with 2.3.0. Throws ProfileRefused (ProfileInvalid) for what Ignition would refuse
 * on the machine.
 */
export function ignition3(request: UserDataRequest): string {
  const entries = ignitionEntries(request);
  const { keys, units } = entries;
  const files = lastOfEachPath(entries.files).map(fileOf);
  const [twice] = definedTwice(request.config);
  if (twice !== undefined) throw ignitionRefused(twice);
  return ignitionJson(request.phase, {
    ignition: { version: "3.3.0" },
    ...(keys.length > 0 ? { passwd: { users: [{ name: "core", sshAuthorizedKeys: keys }] } } : {}),
    ...(files.length > 0 ? { storage: { files } } : {}),
    ...(units.length > 0 ? { systemd: { units } } : {}),
  });
}

// Ignition 3.x refuses a path that occurs twice; in 2.x the later file overwrites the earlier one.
function lastOfEachPath(files: FileEntry[]): FileEntry[] {
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

function fileOf({ path, source, mode }: FileEntry): object {
  // Ignition before 3.4.0 drops the setuid, setgid and sticky bits.
  if (mode > 0o777) throw ignitionRefused(`file "${path}": version 3.3.0 has no setuid, setgid and sticky bits`);
  // Without overwrite, Ignition fails if the file already exists in the image, or was written by the first phase.
  return { path, overwrite: true, contents: { source }, mode };
}
