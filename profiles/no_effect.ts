import { kubeletAnnotationPrefix } from "./kubelet_settings.ts";
import { asObject } from "./go_json.ts";
import { osSettings } from "./os_settings.ts";
import { parameterPrefix } from "./parameter_values.ts";
import type { ProviderConfig } from "./provider_config.ts";

/** Prefixes of annotations that are read from a MachineDeployment itself, and not from its template. */
const ofDeployments = [kubeletAnnotationPrefix, parameterPrefix, "k8c.io/operating-system-profile"];

/** The parts of a MachineDeployment that may have fields without an effect. */
export interface WrittenDeployment {
  /** Annotations in `spec.template.metadata`. */
  templateAnnotations: Record<string, string>;
  provider: ProviderConfig;
}

/**
 * Returns a warning for each field of a MachineDeployment that has no effect on machines, and a warning if no field
 * decides whether its Flatcar machines update themselves. Throws ProfileRefused (ProviderConfigInvalid) for a setting
 * of the wrong type.
 */
export function withoutEffect({ templateAnnotations, provider }: WrittenDeployment): string[] {
  const misplaced = Object.keys(templateAnnotations)
    .filter((key) => ofDeployments.some((prefix) => key.startsWith(prefix)))
    .map((key) =>
      `annotation "${key}" has no effect in spec.template; set it in the metadata of the MachineDeployment`
    );
  return [...misplaced, ...unusedRhelSettings(provider), ...ownUpdates(provider)];
}

function ownUpdates({ operatingSystem, operatingSystemSpec }: ProviderConfig): string[] {
  const given = Object.entries(asObject(operatingSystemSpec) ?? {})
    .filter(([, value]) => typeof value === "boolean").map(([key]) => key.toLowerCase());
  const isSaid = ["disableautoupdate", "disablelocksmithd", "disableupdateengine"].some((key) => given.includes(key));
  if (operatingSystem !== "flatcar" || isSaid) return [];
  return [
    "Flatcar updates and reboots its machines itself, outside of rollouts: set operatingSystemSpec.disableAutoUpdate " +
    "to true to prevent this, or to false to allow it",
  ];
}

function unusedRhelSettings(provider: ProviderConfig): string[] {
  if (provider.operatingSystem !== "rhel") return [];
  const rhel = osSettings(provider)["RhelConfig"] ?? {};
  if (rhel["RHELUseSatelliteServer"] === true) return [];
  const unused = ["RHELOrganizationName", "RHELActivationKey", "RHELSatelliteServer"].filter((field) => rhel[field]);
  if (unused.length === 0) return [];
  const fields = unused.map((field) => `operatingSystemSpec.${field.replace("RHEL", "rhel")}`).join(" and ");
  return [
    `${fields} ${unused.length === 1 ? "has" : "have"} no effect unless rhelUseSatelliteServer is true`,
  ];
}
