import { stringify } from "yaml";
import type { OsConfig, OsConfigPhase, OsUnit, Phase } from "../profiles/mod.ts";
import { phases } from "./rendering.ts";

/** A text that a machine gets; a systemd unit counts as the file that it becomes. */
export interface MachineFile {
  phase: Phase;
  /** Absolute path on the machine; settings that are not a file have a path without a leading slash. */
  path: string;
  /** Four octal digits; empty for settings that are not a file. */
  mode: string;
  text: string;
}

const unitFolder = "/etc/systemd/system";

/**
 * Returns every file of both phases, bootstrap and provisioning, in the order in which they are written, and the
 * other settings of each phase.
 */
export function machineFiles(config: OsConfig): MachineFile[] {
  return phases.flatMap((phase) => {
    const { files, units = [], ...rest } = config[`${phase}Config`];
    return [
      ...files.map(({ path, permissions, content }): MachineFile => {
        return { phase, path, mode: String(permissions).padStart(4, "0"), text: content.inline.data };
      }),
      ...units.flatMap((unit) => unitFiles(unit).map((file) => ({ phase, ...file }))),
      ...settingsOf(config, phase, { units, ...rest }),
    ];
  });
}

function unitFiles({ name, content, dropIns = [] }: OsUnit): Omit<MachineFile, "phase">[] {
  const own = content ? [{ path: `${unitFolder}/${name}`, mode: "0644", text: content }] : [];
  const others = dropIns.map((dropIn) => {
    return { path: `${unitFolder}/${name}.d/${dropIn.name}`, mode: "0644", text: dropIn.content };
  });
  return [...own, ...others];
}

type Told = Omit<OsConfigPhase, "files">;

// Settings that change the machine but are not files are shown as a file, so that configs with different digests look
// different.
function settingsOf(
  config: OsConfig,
  phase: Phase,
  { units = [], userSSHKeys, modules, packages }: Told,
): MachineFile[] {
  const { osName, osVersion, cloudProvider, provisioningUtility, ignitionVersion } = config;
  const told = {
    ...(phase === "bootstrap" ? { osName, osVersion, provisioningUtility, ignitionVersion, cloudProvider } : {}),
    ...(userSSHKeys.length > 0 ? { sshKeys: userSSHKeys } : {}),
    ...(units.length > 0 ? { units: units.map(({ name, enable, mask }) => ({ name, enable, mask })) } : {}),
    ...(packages ? { packages } : {}),
    ...(modules ? { modules } : {}),
  };
  if (Object.keys(told).length === 0) return [];
  return [{ phase, path: "settings.yaml", mode: "", text: stringify(told, { lineWidth: 0 }) }];
}
