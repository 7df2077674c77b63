import type { OsConfig, OsConfigPhase } from "../os_config.ts";
import type { OsFile } from "../schema.ts";

/** bootstrap is what the provider hands to a new machine, provisioning what the machine then fetches by itself. */
export type Phase = "bootstrap" | "provisioning";

/** What one user-data text is made of. */
export interface UserDataRequest {
  phase: Phase;
  provider: string;
  config: OsConfigPhase;
  /** Files that are no part of the config, credentials above all. */
  extraFiles: readonly OsFile[];
}

/** Writes user-data for one provisioning utility; where machines read another format, another generator plugs in. */
export interface UserDataGenerator {
  utility: OsConfig["provisioningUtility"];
  generate(request: UserDataRequest): string;
}
