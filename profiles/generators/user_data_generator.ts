import type { OsConfigPhase } from "../os_config.ts";

/** bootstrap is what the provider hands to a new machine, provisioning what the machine then fetches by itself. */
export type Phase = "bootstrap" | "provisioning";

/** What one user-data text is made of. */
export interface UserDataRequest {
  phase: Phase;
  provider: string;
  config: OsConfigPhase;
  name: string;
  distUpgradeOnBoot: boolean;
}

/** Writes user-data for one provisioning utility; where machines read another format, another generator plugs in. */
export type UserDataGenerator = (request: UserDataRequest) => string;

/** machine-controller puts the machine's name in its place, wherever it stands in the bootstrap user-data. */
export const machineName = "<MACHINE_NAME>";

/** Whether this text tells the machine its name; on aws the cloud's own name for the instance is the node's name. */
export function tellsName({ phase, provider }: UserDataRequest): boolean {
  return phase === "bootstrap" && provider !== "aws";
}

/** The keys to write: trimmed, none empty, none twice, in the order given. */
export function authorizedKeys({ config }: UserDataRequest): string[] {
  return [...new Set(config.userSSHKeys.map((key) => key.trim()).filter((key) => key !== ""))];
}
