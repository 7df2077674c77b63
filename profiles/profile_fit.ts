import { ProfileRefused } from "./refusal.ts";
import type { OsProfile } from "./schema.ts";

/** What a MachineDeployment says that its profile must match. */
export interface FitInput {
  operatingSystem: string;
  provider: string;
}

/** Throws ProfileRefused when the profile is for another system or provider, or cannot be rendered by this version. */
export function checkProfileFits(profile: OsProfile, { operatingSystem, provider }: FitInput): void {
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
  checkTemplating(profile);
  checkUtility(profile.provisioningUtility);
}

/** Throws ProfileRefused (TemplatingUnsupported) unless this version has an engine for the profile's templates. */
export function checkTemplating({ templating }: OsProfile): void {
  if (templating === "eta") return;
  throw new ProfileRefused(
    "TemplatingUnsupported",
    `Cannot render the profile: its templating is "${templating}", and Go templates are not rendered by this version`,
  );
}

/** Throws ProfileRefused (ProfileInvalid) unless this version can generate user-data for the utility. */
export function checkUtility(utility: OsProfile["provisioningUtility"]): void {
  if (utility === "cloud-init") return;
  throw new ProfileRefused(
    "ProfileInvalid",
    `Cannot generate user-data: provisioningUtility is "${utility}", and this version only writes cloud-init`,
  );
}
