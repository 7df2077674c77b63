import { type FileEntry, ignitionEntries, ignitionJson, ignitionRefused, type UnitEntry } from "./ignition_entries.ts";
import type { UserDataRequest } from "./user_data_generator.ts";

/**
 * Writes Ignition 3.3.0, which Flatcar since 3185, Fedora CoreOS and every later Ignition read. It brings to a machine
 * what 2.3.0 does. Throws ProfileRefused (ProfileInvalid) for what Ignition refuses on the machine.
 */
export function ignition3(request: UserDataRequest): string {
  const entries = ignitionEntries(request);
  const { keys, units } = entries;
  const files = lastOfEachPath(entries.files).map(fileOf);
  refuseTwice(units);
  return ignitionJson(request.phase, {
    ignition: { version: "3.3.0" },
    ...(keys.length > 0 ? { passwd: { users: [{ name: "core", sshAuthorizedKeys: keys }] } } : {}),
    ...(files.length > 0 ? { storage: { files } } : {}),
    ...(units.length > 0 ? { systemd: { units } } : {}),
  });
}

// 3.x takes no path twice; in 2.x the later one overwrites the other.
function lastOfEachPath(files: FileEntry[]): FileEntry[] {
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

function fileOf({ path, source, mode }: FileEntry): object {
  // Ignition drops them, but in 3.4.0 and later.
  if (mode > 0o777) throw ignitionRefused(`file "${path}": 3.3.0 takes no setuid, setgid and sticky bits`);
  // Else Ignition stops at a file that the image has, or the first phase brought.
  return { path, overwrite: true, contents: { source }, mode };
}

function refuseTwice(units: UnitEntry[]): void {
  const unitTwice = twice(units.map(({ name }) => name));
  if (unitTwice !== undefined) throw ignitionRefused(`unit "${unitTwice}": it is there twice`);
  for (const { name, dropins = [] } of units) {
    const dropInTwice = twice(dropins.map((dropIn) => dropIn.name));
    if (dropInTwice !== undefined) {
      throw ignitionRefused(`unit "${name}": its drop-in "${dropInTwice}" is there twice`);
    }
  }
}

function twice(names: string[]): string | undefined {
  return names.find((name, at) => names.indexOf(name) !== at);
}
