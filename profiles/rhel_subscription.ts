import { type OsSettings, osSettings } from "./os_settings.ts";
import type { ProviderConfig } from "./provider_config.ts";
import type { OsProfile, ProfilePhase } from "./schema.ts";

/**
 * The profile with RHEL's subscription in the modules of both phases, in place of what it says there itself; other
 * systems stay as they are. What is not set is written all the same, as Operating System Manager does.
 */
export function withRhelSubscription(profile: OsProfile, provider: ProviderConfig): OsProfile {
  if (provider.operatingSystem !== "rhel") return profile;
  const rh_subscription = subscriptionOf(osSettings(provider)["RhelConfig"] ?? {});
  const subscribed = (phase: ProfilePhase): ProfilePhase => ({
    ...phase,
    modules: { ...phase.modules, rh_subscription },
  });
  return {
    ...profile,
    bootstrapConfig: subscribed(profile.bootstrapConfig),
    provisioningConfig: subscribed(profile.provisioningConfig),
  };
}

function subscriptionOf(rhel: OsSettings): Record<string, string> {
  const text = (field: string): string => String(rhel[field] ?? "");
  if (rhel["RHELUseSatelliteServer"] !== true) {
    return {
      username: text("RHELSubscriptionManagerUser"),
      password: text("RHELSubscriptionManagerPassword"),
      "auto-attach": text("AttachSubscription"),
    };
  }
  return {
    org: text("RHELOrganizationName"),
    "activation-key": text("RHELActivationKey"),
    "server-hostname": text("RHELSatelliteServer"),
    "rhsm-baseurl": `https://${text("RHELSatelliteServer")}/pulp/repos`,
  };
}
