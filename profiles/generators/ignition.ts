import { ProfileRefused } from "../refusal.ts";
import type { OsUnit } from "../schema.ts";
import { checkUnit } from "./systemd_unit.ts";
import { authorizedKeys, machineName, type Phase, tellsName, type UserDataRequest } from "./user_data_generator.ts";

/**
 * Writes Ignition 2.3.0, laid out as Operating System Manager's. Modules and the encoding of files mean nothing to it.
 * Throws ProfileRefused (ProfileInvalid) for what Ignition refuses on the machine.
 */
export function ignition(request: UserDataRequest): string {
  const { phase, config: { files, units = [], packages = [] } } = request;
  if (packages.length > 0) throw refused(`packages ${packages.join(", ")}: Ignition installs none`);
  const keys = authorizedKeys(request);
  const written = [
    ...tellsName(request) ? [fileOf("/etc/machine-name", machineName, 600)] : [],
    ...files.map(({ path, permissions, content }) => fileOf(path, asLines(content.inline.data), permissions)),
  ];
  return toJson(phase, {
    ignition: { config: {}, security: { tls: {} }, timeouts: {}, version: "2.3.0" },
    networkd: {},
    passwd: keys.length > 0 ? { users: [{ name: "core", sshAuthorizedKeys: keys }] } : {},
    storage: written.length > 0 ? { files: written } : {},
    systemd: units.length > 0 ? { units: units.map(unitOf) } : {},
  });
}

function fileOf(path: string, text: string, permissions: number): object {
  if (!path.startsWith("/")) throw refused(`file "${path}": its path is not absolute`);
  const source = `data:,${encodeURIComponent(text.toWellFormed())}`;
  // Profiles write octal digits as a decimal number, Ignition wants the number they mean.
  const mode = parseInt(String(permissions), 8);
  return { filesystem: "root", path, contents: { source, verification: {} }, mode };
}

function unitOf({ name, enable = false, mask = false, content = "", dropIns = [] }: OsUnit): object {
  const contents = asLines(content);
  const dropins = dropIns.map((dropIn) => ({ contents: asLines(dropIn.content), name: dropIn.name }));
  const fault = checkUnit({ name, isEnabled: enable, contents, dropins });
  if (fault !== undefined) throw refused(`unit "${name}": ${fault}`);
  return {
    ...withContents(contents),
    ...(dropins.length > 0
      ? { dropins: dropins.map((dropIn) => ({ ...withContents(dropIn.contents), name: dropIn.name })) }
      : {}),
    enabled: enable,
    ...(mask ? { mask } : {}),
    name,
  };
}

function withContents(contents: string): { contents?: string } {
  return contents === "" ? {} : { contents };
}

/** The text with exactly one newline at its end, as if it stood in a YAML block; an empty one stays empty. */
function asLines(text: string): string {
  let length = text.length;
  while (text[length - 1] === "\n") length--;
  return length === 0 ? "" : `${text.slice(0, length)}\n`;
}

/** JSON as Go writes it, but with the placeholder as machine-controller looks for it. */
function toJson(phase: Phase, value: object): string {
  const special = phase === "bootstrap" ? /<MACHINE_NAME>|[<>&\u2028\u2029]/g : /[<>&\u2028\u2029]/g;
  return JSON.stringify(value).replace(special, (found) => {
    return found === machineName ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function refused(what: string): ProfileRefused {
  return new ProfileRefused("ProfileInvalid", `Cannot write Ignition for ${what}`);
}
