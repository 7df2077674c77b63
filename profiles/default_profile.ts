import { utilityOf } from "./profile_fit.ts";

/** What decides the default: three fields of a provider config. */
export interface ProfileChoice {
  operatingSystem: string;
  cloudProvider: string;
  operatingSystemSpec?: unknown;
}

const systems = ["ubuntu", "rhel", "rockylinux", "amzn2", "debian", "flatcar"];

/** The default profile of a MachineDeployment that names none, or undefined where no profile that comes with us fits. */
export function defaultProfileName(
  { operatingSystem, cloudProvider, operatingSystemSpec }: ProfileChoice,
): string | undefined {
  if (!systems.includes(operatingSystem)) return undefined;
  if (operatingSystem !== "flatcar") return `osp-${operatingSystem}`;
  if (utilityOf(operatingSystem, operatingSystemSpec) === "cloud-init") return "osp-flatcar-cloud-init";
  // Anexia starts machines by cloud-init only.
  return cloudProvider === "anexia" ? undefined : "osp-flatcar";
}
