import type { z } from "zod";

/** Why a profile and a MachineDeployment cannot produce a config until one of them changes. */
export type RefusalReason =
  | "ProfileInvalid"
  | "ProfileMissing"
  | "ProviderConfigInvalid"
  | "UtilityMismatch"
  | "CloudConfigInvalid"
  | "ParameterInvalid"
  | "OperatingSystemMismatch"
  | "ProviderUnsupported"
  | "KubeletVersionInvalid"
  | "KubeletSettingsInvalid"
  | "RenderFailed";

/** Thrown if only a change of the profile or of the MachineDeployment can help; the message names that change. */
export class ProfileRefused extends Error {
  override readonly name = "ProfileRefused";

  /** Path of the first invalid field, if a schema refused it. */
  readonly at: readonly PropertyKey[] | undefined;

  constructor(
    readonly reason: RefusalReason,
    message: string,
    { at, ...options }: ErrorOptions & { at?: readonly PropertyKey[] | undefined } = {},
  ) {
    super(message, options);
    this.at = at;
  }
}

/** Thrown if an object referenced by the MachineDeployment does not exist yet; a retry can succeed. */
export class ReferenceMissing extends Error {
  override readonly name = "ReferenceMissing";
}

/**
 * Returns up to three fields that a schema refused, each with the reason and without its value, then the number of the
 * other fields. `whole` names the validated object in a fault of the object itself.
 */
export function faultsOf(error: z.ZodError, whole: string): string {
  const faults = error.issues.map(({ path, message }) => `${path.map(String).join(".") || whole}: ${message}`);
  const more = faults.length > 3 ? [`and ${faults.length - 3} more`] : [];
  return [...faults.slice(0, 3), ...more].join("; ");
}
