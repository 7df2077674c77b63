import { asObject, goField } from "./go_json.ts";
import type { ProviderConfig } from "./provider_config.ts";
import { ProfileRefused } from "./refusal.ts";
import { type OsProfile, usableProviders } from "./schema.ts";

/** The fields of a MachineDeployment that its profile must fit. */
interface FitInput {
  operatingSystem: string;
  provider: string;
  operatingSystemSpec?: unknown;
  network?: ProviderConfig["network"] | undefined;
}

/** Throws ProfileRefused if the profile is for another system, provider or utility, or the network is not supported. */
export function checkProfileFits(profile: OsProfile, wanted: FitInput): void {
  const { operatingSystem, provider, operatingSystemSpec, network } = wanted;
  if (profile.osName !== operatingSystem) {
    throw new ProfileRefused(
      "OperatingSystemMismatch",
      `Failed to use the profile: its osName is "${profile.osName}"; the MachineDeployment needs "${operatingSystem}"`,
    );
  }
  const names = usableProviders(profile);
  if (!names.includes(provider)) {
    throw new ProfileRefused(
      "ProviderUnsupported",
      `Failed to use the profile on provider "${provider}": supported providers are ${names.join(", ") || "none"}`,
    );
  }
  const utility = utilityOf(operatingSystem, operatingSystemSpec);
  if (profile.provisioningUtility !== utility) {
    const cause = `its provisioningUtility is "${profile.provisioningUtility}"`;
    throw new ProfileRefused(
      "UtilityMismatch",
      `Failed to use the profile: ${cause}; the MachineDeployment needs "${utility}"`,
    );
  }
  checkNetworkFits({ operatingSystem, network });
}

/** Throws ProfileRefused if the network has a static address and the system does not support one. */
export function checkNetworkFits({ operatingSystem, network }: Pick<FitInput, "operatingSystem" | "network">): void {
  if (operatingSystem === "flatcar" || !isStatic(network)) return;
  throw new ProfileRefused(
    "ProviderConfigInvalid",
    `Invalid network: "${operatingSystem}" cannot have a static address; only flatcar supports cidr, gateway and dns`,
  );
}

/**
 * Returns the provisioning utility of a MachineDeployment: Flatcar uses Ignition by default, the others cloud-init. As
 * in Go, the case of key `provisioningUtility` does not matter.
 */
export function utilityOf(operatingSystem: string, spec: unknown): string {
  if (operatingSystem !== "flatcar") return "cloud-init";
  const utility = goField(asObject(spec) ?? {}, "provisioningUtility");
  return typeof utility === "string" && utility !== "" ? utility : "ignition";
}

// As in Operating System Manager, any of the three fields makes the network static.
function isStatic(network: ProviderConfig["network"]): boolean {
  return Boolean(network?.cidr || network?.gateway || network?.dns?.servers?.length);
}
