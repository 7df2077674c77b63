import { ignitionEntries, ignitionJson } from "./ignition_entries.ts";
import type { UserDataRequest } from "./user_data_generator.ts";

/**
 * Returns Ignition 2.3.0 in the layout of Operating System Manager; ignores modules and the encoding of files.
 * Throws ProfileRefused (ProfileInvalid) for what Ignition would refuse on the machine.
 */
export function ignition(request: UserDataRequest): string {
  const { keys, files, units } = ignitionEntries(request);
  const written = files.map(({ path, source, mode }) => {
    return { filesystem: "root", path, contents: { source, verification: {} }, mode };
  });
  return ignitionJson(request.phase, {
    ignition: { config: {}, security: { tls: {} }, timeouts: {}, version: "2.3.0" },
    networkd: {},
    passwd: keys.length > 0 ? { users: [{ name: "core", sshAuthorizedKeys: keys }] } : {},
    storage: written.length > 0 ? { files: written } : {},
    systemd: units.length > 0 ? { units } : {},
  });
}
