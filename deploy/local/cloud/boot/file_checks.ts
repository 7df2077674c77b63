import { X509Certificate } from "node:crypto";
import { Hopeless } from "../patience.ts";
import type { BootFile, CloudConfig } from "./cloud_config.ts";

/** Returns a file; throws Hopeless if it is missing or empty. */
export function needFile(config: CloudConfig, path: string): BootFile {
  const file = config.files.get(path);
  if (file === undefined) throw unusable(path, "it is missing");
  if (file.content.trim() === "") throw unusable(path, "it is empty");
  return file;
}

/** Returns a file that only its owner can read; throws Hopeless if others can read it. */
export function needSecretFile(config: CloudConfig, path: string): BootFile {
  const file = needFile(config, path);
  if ((file.mode & 0o077) !== 0) throw unusable(path, `mode "${file.mode.toString(8)}" allows others to read it`);
  return file;
}

/**
 * Returns the file name of the systemd unit that runs a script; throws Hopeless if the script is not executable or no
 * unit runs it.
 */
export function needService(config: CloudConfig, script: string): string {
  if ((needFile(config, script).mode & 0o111) === 0) throw unusable(script, "it is not executable");
  for (const [path, file] of config.files) {
    const unit = /^\/etc\/systemd\/system\/([^/]+\.service)$/.exec(path)?.[1];
    if (unit !== undefined && execStarts(file.content).some((line) => line.includes(script))) return unit;
  }
  throw unusable(script, "no systemd unit runs it");
}

/** Returns the commands that a unit starts, with continuation lines joined. */
export function execStarts(unit: string): string[] {
  const lines = unit.replaceAll(/\\\n\s*/g, "").split("\n");
  return lines.filter((line) => line.startsWith("ExecStart=")).map((line) => line.slice("ExecStart=".length));
}

/** Returns the PEM text of one certificate authority; throws Hopeless if the file has no certificate. */
export function needCertificate(config: CloudConfig, path: string): string {
  const pem = needFile(config, path).content;
  try {
    new X509Certificate(pem);
  } catch {
    throw unusable(path, "it has no PEM certificate");
  }
  return pem;
}

/** Reads the required variables of a shell environment file; throws Hopeless if one is missing. */
export function needVariables<Name extends string>(
  config: CloudConfig,
  path: string,
  names: readonly Name[],
): Record<Name, string> {
  const found = readVariables(config, path);
  const missing = names.find((name) => !found.get(name));
  if (missing !== undefined) throw unusable(path, `it does not set ${missing}`);
  return Object.fromEntries(names.map((name) => [name, found.get(name) ?? ""])) as Record<Name, string>;
}

/** Returns all variables of a shell environment file by name; throws Hopeless if the file is missing. */
export function readVariables(config: CloudConfig, path: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of needFile(config, path).content.split("\n")) {
    const match = /^([A-Z_]+)=(?:"([^"]*)"|'([^']*)'|(\S*))\s*$/.exec(line);
    if (match !== null) found.set(match[1] ?? "", match[2] ?? match[3] ?? match[4] ?? "");
  }
  return found;
}

/** Returns the error for a file; `state` completes "Invalid file PATH: …". */
export function unusable(path: string, state: string): Hopeless {
  return new Hopeless(`Invalid file "${path}": ${state}`);
}
