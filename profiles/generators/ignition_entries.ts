import { ProfileRefused } from "../refusal.ts";
import type { OsUnit } from "../schema.ts";
import { checkUnit } from "./systemd_unit.ts";
import { authorizedKeys, machineName, type Phase, tellsName, type UserDataRequest } from "./user_data_generator.ts";

/** A file in the form of every Ignition version. */
export interface FileEntry {
  path: string;
  /** Content of the file, as a data URL. */
  source: string;
  mode: number;
}

/** A unit in the form of every Ignition version, with its keys in the order of Go's JSON. */
interface UnitEntry {
  contents?: string;
  dropins?: { contents?: string; name: string }[];
  enabled: boolean;
  mask?: true;
  name: string;
}

/** The contents of a phase, in a form that does not depend on the version of the Ignition specification. */
interface IgnitionEntries {
  /** SSH keys of user core. */
  keys: string[];
  files: FileEntry[];
  units: UnitEntry[];
}

/**
 * Returns the contents of a phase; throws ProfileRefused (ProfileInvalid) for what Ignition would refuse on the
 * machine.
 */
export function ignitionEntries(request: UserDataRequest): IgnitionEntries {
  const { files, units = [], packages = [] } = request.config;
  if (packages.length > 0) throw ignitionRefused(`packages ${packages.join(", ")}: Ignition cannot install packages`);
  return {
    keys: authorizedKeys(request),
    files: [
      ...tellsName(request) ? [fileOf("/etc/machine-name", machineName, 600)] : [],
      ...files.map(({ path, permissions, content }) => fileOf(path, asLines(content.inline.data), permissions)),
    ],
    units: units.map(unitOf),
  };
}

/**
 * Returns what a phase defines twice, in words: a path as a file and as a unit or drop-in, the name of a unit, or the
 * name of a drop-in of one unit. Ignition fails at the second definition and leaves the machine in its initramfs
 * (https://github.com/coreos/ignition/issues/881).
 */
export function definedTwice({ files, units = [] }: Pick<OsPhase, "files" | "units">): string[] {
  const folder = "/etc/systemd/system";
  const ofUnits = units.flatMap(({ name, content = "", dropIns = [] }) => [
    ...(content === "" ? [] : [`${folder}/${name}`]),
    ...dropIns.map((dropIn) => `${folder}/${name}.d/${dropIn.name}`),
  ]);
  const paths = new Set(files.map(({ path }) => path));
  return [
    ...ofUnits.filter((path) => paths.has(path)).map((path) => `file "${path}": a unit or drop-in has the same path`),
    ...twice(units.map(({ name }) => name)).map((name) => `unit "${name}": it is defined twice`),
    ...units.flatMap(({ name, dropIns = [] }) =>
      twice(dropIns.map((dropIn) => dropIn.name)).map((each) =>
        `unit "${name}": its drop-in "${each}" is defined twice`
      )
    ),
  ];
}

type OsPhase = UserDataRequest["config"];

function twice(names: string[]): string[] {
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}

function fileOf(path: string, text: string, permissions: number): FileEntry {
  if (!path.startsWith("/")) throw ignitionRefused(`file "${path}": its path must be absolute`);
  const source = `data:,${encodeURIComponent(text.toWellFormed())}`;
  // Profiles write octal digits as a decimal number; Ignition needs the value of the octal number.
  return { path, source, mode: parseInt(String(permissions), 8) };
}

function unitOf({ name, enable = false, mask = false, content = "", dropIns = [] }: OsUnit): UnitEntry {
  const contents = asLines(content);
  const dropins = dropIns.map((dropIn) => ({ contents: asLines(dropIn.content), name: dropIn.name }));
  const fault = checkUnit({ name, isEnabled: enable, contents, dropins });
  if (fault !== undefined) throw ignitionRefused(`unit "${name}": ${fault}`);
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

/** Returns the text with exactly one newline at its end, like a YAML block; an empty text stays empty. */
function asLines(text: string): string {
  let length = text.length;
  while (text[length - 1] === "\n") length--;
  return length === 0 ? "" : `${text.slice(0, length)}\n`;
}

/**
 * Returns JSON as Go writes it, except that `<MACHINE_NAME>` stays unescaped in the bootstrap phase, because
 * machine-controller searches for it.
 */
export function ignitionJson(phase: Phase, value: object): string {
  const special = phase === "bootstrap" ? /<MACHINE_NAME>|[<>&\u2028\u2029]/g : /[<>&\u2028\u2029]/g;
  return JSON.stringify(value).replace(special, (found) => {
    return found === machineName ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Returns a refusal (ProfileInvalid) of a part of a profile; `what` names the part and the cause. */
export function ignitionRefused(what: string): ProfileRefused {
  return new ProfileRefused("ProfileInvalid", `Failed to write Ignition for ${what}`);
}
