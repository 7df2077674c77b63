import type { CloudInitModules, OsFile, OsProfile, OsUnit } from "./schema.ts";

/** The files and settings of one phase on a machine, with all templates rendered. */
export interface OsConfigPhase {
  files: OsFile[];
  units?: OsUnit[];
  userSSHKeys: string[];
  modules?: CloudInitModules;
  /** Ostler's own field: packages that cloud-init installs. */
  packages?: string[];
}

/** The `.spec` of an OperatingSystemConfig. */
export interface OsConfig {
  osName: OsProfile["osName"];
  osVersion: string;
  cloudProvider: { name: string; spec: unknown };
  bootstrapConfig: OsConfigPhase;
  provisioningConfig: OsConfigPhase;
  provisioningUtility: OsProfile["provisioningUtility"];
  /** Ostler's own field: version of the Ignition specification; 2.3.0 if not set. */
  ignitionVersion?: OsProfile["ignitionVersion"];
}

/** Returns the `.spec` of the object to write, without empty lists in a phase, as Operating System Manager does. */
export function specOf(config: OsConfig): Record<string, unknown> {
  const { bootstrapConfig, provisioningConfig } = config;
  return {
    ...config,
    bootstrapConfig: withoutEmptyLists(bootstrapConfig),
    provisioningConfig: withoutEmptyLists(provisioningConfig),
  };
}

function withoutEmptyLists(phase: OsConfigPhase): Partial<OsConfigPhase> {
  return Object.fromEntries(
    Object.entries(phase).filter(([, value]) => !Array.isArray(value) || value.length > 0),
  );
}

/** Returns the size of a text in bytes of UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
