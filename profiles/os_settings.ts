import { asObject, goField } from "./go_json.ts";
import type { ProviderConfig } from "./provider_config.ts";
import { ProfileRefused } from "./refusal.ts";

type Kind = "boolean" | "string";

/**
 * The fields of `operatingSystemSpec` by operating system: the name in template data and the type of the JSON value.
 */
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

/** Settings of an operating system by the names that Go templates use; a field that is not set is false or empty. */
export type OsSettings = Record<string, boolean | string>;

/**
 * Returns the settings of every operating system as template data; only those of the MachineDeployment's own system
 * are filled. Ignores unknown keys. Throws ProfileRefused (ProviderConfigInvalid) for a value of the wrong type.
 */
export function osSettings({ operatingSystem, operatingSystemSpec }: ProviderConfig): Record<string, OsSettings> {
  // Operating System Manager reads this setting for every system, also for one without a type of its own here.
  settingOf(specOf(operatingSystemSpec), "DistUpgradeOnBoot", "boolean");
  const systems = Object.entries(known).map(([system, { data, fields }]) => {
    const spec = system === operatingSystem ? specOf(operatingSystemSpec) : {};
    const read = Object.entries(fields).map(([field, kind]) => [field, settingOf(spec, field, kind)]);
    return [data, Object.fromEntries(read)];
  });
  return Object.fromEntries(systems);
}

const fieldNames = Object.values(known).flatMap(({ fields }) => Object.keys(fields));
const jsonNames = new Map(fieldNames.map((field) => [field.toLowerCase(), jsonName(field)]));

/**
 * Returns the name that machine-controller's documentation gives to a key of `operatingSystemSpec`, because Go matches
 * keys without regard to case; an unknown key as it is.
 */
export function settingName(key: string): string {
  return jsonNames.get(key.toLowerCase()) ?? key;
}

function jsonName(field: string): string {
  return field.replace(/^(?:[A-Z]+(?=[A-Z][a-z])|[A-Z])/, (capitals) => capitals.toLowerCase());
}

function specOf(written: unknown): Record<string, unknown> {
  const spec = asObject(written ?? {});
  if (spec === undefined) throw refused("operatingSystemSpec", "an object");
  return spec;
}

function settingOf(spec: Record<string, unknown>, field: string, kind: Kind): boolean | string {
  // The JSON keys differ from the field names only in case.
  const value = goField(spec, field) ?? (kind === "boolean" ? false : "");
  if (kind === "boolean" && typeof value === "boolean") return value;
  if (kind === "string" && typeof value === "string") return value;
  throw refused(`operatingSystemSpec.${field}`, kind === "boolean" ? "true or false" : "a string");
}

function refused(field: string, wanted: string): ProfileRefused {
  return new ProfileRefused("ProviderConfigInvalid", `Invalid provider config: ${field} must be ${wanted}`);
}
