import type { ProviderConfig } from "./provider_config.ts";
import { ProfileRefused } from "./refusal.ts";
import type { OsProfile } from "./schema.ts";

/** What a MachineDeployment says that its profile must match. */
export interface FitInput {
  operatingSystem: string;
  provider: string;
  operatingSystemSpec?: unknown;
  network?: ProviderConfig["network"] | undefined;
}

/** Throws ProfileRefused when the profile is for another system, provider or utility, or cannot do what is asked. */
export function checkProfileFits(profile: OsProfile, wanted: FitInput): void {
  const { operatingSystem, provider, operatingSystemSpec, network } = wanted;
  if (profile.osName !== operatingSystem) {
    throw new ProfileRefused(
      "OperatingSystemMismatch",
      `Cannot use a profile for "${profile.osName}": the MachineDeployment asks for "${operatingSystem}"`,
    );
  }
  const names = profile.supportedCloudProviders.map(({ name }) => name);
  if (!names.includes(provider)) {
    throw new ProfileRefused(
      "ProviderUnsupported",
      `Cannot use the profile on provider "${provider}": it supports ${names.join(", ") || "none"}`,
    );
  }
  const utility = utilityOf(operatingSystem, operatingSystemSpec);
  if (profile.provisioningUtility !== utility) {
    throw new ProfileRefused(
      "UtilityMismatch",
      `Cannot use a profile for "${profile.provisioningUtility}": the MachineDeployment asks for "${utility}"`,
    );
  }
  checkNetworkFits({ operatingSystem, network });
}

/** Throws ProfileRefused for a static address where the system cannot take one. */
export function checkNetworkFits({ operatingSystem, network }: Pick<FitInput, "operatingSystem" | "network">): void {
  if (operatingSystem === "flatcar" || !isStatic(network)) return;
  throw new ProfileRefused(
    "ProviderConfigInvalid",
    `Cannot give machines with "${operatingSystem}" a static address: only flatcar takes cidr, gateway and DNS servers`,
  );
}

/** Only Flatcar machines may use Ignition, and do unless told otherwise. */
export function utilityOf(operatingSystem: string, spec: unknown): string {
  if (operatingSystem !== "flatcar") return "cloud-init";
  const { provisioningUtility } = (spec ?? {}) as { provisioningUtility?: string };
  return provisioningUtility || "ignition";
}

// As Operating System Manager has it: any of the three makes the network a static one.
function isStatic(network: ProviderConfig["network"]): boolean {
  return Boolean(network?.cidr || network?.gateway || network?.dns?.servers?.length);
}
