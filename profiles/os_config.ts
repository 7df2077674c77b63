import type { CloudInitModules, OsFile, OsProfile, OsUnit } from "./schema.ts";

/** What one phase writes on a machine; all of it is text as it will stand there. */
export interface OsConfigPhase {
  files: OsFile[];
  units?: OsUnit[];
  userSSHKeys: string[];
  modules?: CloudInitModules;
  /** Ours: what cloud-init installs. */
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
  /** Ours: version of the specification that `ignition` is written in; 2.3.0 where nothing is said. */
  ignitionVersion?: OsProfile["ignitionVersion"];
}

/** The config as it is written into an object: as Operating System Manager does it, empty lists of a phase are left out. */
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

/** Size of a text in bytes of UTF-8. */
export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
