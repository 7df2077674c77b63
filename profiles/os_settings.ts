import { asObject, goField } from "./go_json.ts";
import type { ProviderConfig } from "./provider_config.ts";
import { ProfileRefused } from "./refusal.ts";

type Kind = "boolean" | "string";

/** What `operatingSystemSpec` may say, by system: the field of a template's data to the type its JSON key must have. */
const known: Record<string, { data: string; fields: Record<string, Kind> }> = {
  amzn2: { data: "AmazonLinuxConfig", fields: { DistUpgradeOnBoot: "boolean" } },
  rockylinux: { data: "RockyLinuxConfig", fields: { DistUpgradeOnBoot: "boolean" } },
  ubuntu: { data: "UbuntuConfig", fields: { DistUpgradeOnBoot: "boolean" } },
  flatcar: {
    data: "FlatcarConfig",
    fields: {
      DisableAutoUpdate: "boolean",
      DisableLocksmithD: "boolean",
      DisableUpdateEngine: "boolean",
      ProvisioningUtility: "string",
    },
  },
  rhel: {
    data: "RhelConfig",
    fields: {
      DistUpgradeOnBoot: "boolean",
      RHELSubscriptionManagerUser: "string",
      RHELSubscriptionManagerPassword: "string",
      RHSMOfflineToken: "string",
      AttachSubscription: "boolean",
      RHELUseSatelliteServer: "boolean",
      RHELSatelliteServer: "string",
      RHELOrganizationName: "string",
      RHELActivationKey: "string",
    },
  },
};

/** A system's settings by the names that Go templates use; what is not said is false or empty. */
export type OsSettings = Record<string, boolean | string>;

/**
 * The settings of every system, as template data: only those of the MachineDeployment's own one are filled.
 * Unknown keys are left alone. Throws ProfileRefused (ProviderConfigInvalid) for a value of a wrong type.
 */
export function osSettings({ operatingSystem, operatingSystemSpec }: ProviderConfig): Record<string, OsSettings> {
  const systems = Object.entries(known).map(([system, { data, fields }]) => {
    const said = system === operatingSystem ? specOf(operatingSystemSpec) : {};
    const read = Object.entries(fields).map(([field, kind]) => [field, settingOf(said, field, kind)]);
    return [data, Object.fromEntries(read)];
  });
  return Object.fromEntries(systems);
}

function specOf(written: unknown): Record<string, unknown> {
  const spec = asObject(written ?? {});
  if (spec === undefined) throw refused("operatingSystemSpec", "an object");
  return spec;
}

function settingOf(spec: Record<string, unknown>, field: string, kind: Kind): boolean | string {
  // The JSON keys differ from the fields in the case of their letters alone.
  const value = goField(spec, field) ?? (kind === "boolean" ? false : "");
  if (kind === "boolean" && typeof value === "boolean") return value;
  if (kind === "string" && typeof value === "string") return value;
  throw refused(`operatingSystemSpec.${field}`, kind === "boolean" ? "true or false" : "text");
}

function refused(field: string, wanted: string): ProfileRefused {
  return new ProfileRefused("ProviderConfigInvalid", `Cannot read the provider config: ${field} must be ${wanted}`);
}
