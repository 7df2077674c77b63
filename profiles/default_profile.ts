import { utilityOf } from "./profile_fit.ts";

/** The fields of a provider config that decide the default profile. */
interface ProfileChoice {
  operatingSystem: string;
  cloudProvider: string;
  operatingSystemSpec?: unknown;
}

const systems = ["ubuntu", "rhel", "rockylinux", "amzn2", "debian", "flatcar"];

/**
 * Returns the default profile of a MachineDeployment that names none, or undefined if none of Ostler's profiles fits.
 */
export function defaultProfileName(
  { operatingSystem, cloudProvider, operatingSystemSpec }: ProfileChoice,
): string | undefined {
  if (!systems.includes(operatingSystem)) return undefined;
  if (operatingSystem !== "flatcar") return `osp-${operatingSystem}`;
  if (utilityOf(operatingSystem, operatingSystemSpec) === "cloud-init") return "osp-flatcar-cloud-init";
  // Anexia starts machines with cloud-init only.
  return cloudProvider === "anexia" ? undefined : "osp-flatcar";
}
