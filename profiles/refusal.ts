import type { z } from "zod";

/** Why a profile and a MachineDeployment can never make a config as they are. */
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

/** Thrown when only a change of the profile or of the MachineDeployment can help; the message says which. */
export class ProfileRefused extends Error {
  override readonly name = "ProfileRefused";

  constructor(readonly reason: RefusalReason, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** Thrown when something that the MachineDeployment points at is not there, which may be on its way. */
export class ReferenceMissing extends Error {
  override readonly name = "ReferenceMissing";
}

/** Names the fields that a schema refused, at most three of them, and never their values. */
export function faultsOf(error: z.ZodError, whole: string): string {
  const faults = error.issues.map(({ path, message }) => `${path.map(String).join(".") || whole}: ${message}`);
  const more = faults.length > 3 ? [`and ${faults.length - 3} more`] : [];
  return [...faults.slice(0, 3), ...more].join("; ");
}
