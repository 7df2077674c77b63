import { stringify } from "yaml";
import type { OsConfig, OsConfigPhase, OsUnit, Phase } from "../profiles/mod.ts";
import { phases } from "./rendering.ts";

/** A text that a machine gets; units are the files that they become. */
export interface MachineFile {
  phase: Phase;
  /** Absolute on the machine; without a leading slash for what is no file there. */
  path: string;
  /** Four octal digits; empty for what is no file. */
  mode: string;
  text: string;
}

const unitFolder = "/etc/systemd/system";

/** Every file of both phases in the order in which they are written, then what else the machine is told. */
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

// What decides about a machine without being a file of it: with this, no two configs of different digests look the same.
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
