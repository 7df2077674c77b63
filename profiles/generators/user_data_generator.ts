import type { OsConfigPhase } from "../os_config.ts";

/**
 * The phase of a boot. bootstrap: the provider passes the user-data of this phase to a new machine; provisioning: the
 * machine then fetches the user-data of this phase itself.
 */
export type Phase = "bootstrap" | "provisioning";

/** The input for the user-data of one phase. */
export interface UserDataRequest {
  phase: Phase;
  provider: string;
  config: OsConfigPhase;
  name: string;
  distUpgradeOnBoot: boolean;
}

/** Returns user-data for one provisioning utility; another format needs another generator. */
export type UserDataGenerator = (request: UserDataRequest) => string;

/**
 * The placeholder that machine-controller replaces with the name of the machine, everywhere in the bootstrap user-data.
 */
export const machineName = "<MACHINE_NAME>";

/** Returns whether the user-data sets the name of the machine; on aws the cloud names the instance, and so the node. */
export function tellsName({ phase, provider }: UserDataRequest): boolean {
  return phase === "bootstrap" && provider !== "aws";
}

/** Returns the SSH keys to write: trimmed, without empty ones and duplicates, in their order. */
export function authorizedKeys({ config }: UserDataRequest): string[] {
  return [...new Set(config.userSSHKeys.map((key) => key.trim()).filter((key) => key !== ""))];
}
