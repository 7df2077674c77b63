/** Why an activity gave up, sorted by what happens next. */

/** Why an activity gave up, sorted by what happens next (see the README, "Errors"). */
export type RefusedType =
  | "ProfileMissing"
  | "ProfileInvalid"
  | "OperatingSystemMismatch"
  | "ProviderUnsupported"
  | "UtilityMismatch"
  | "ProviderConfigInvalid"
  | "CloudConfigInvalid"
  | "ParameterInvalid"
  | "CredentialsMissing"
  | "KubeletVersionInvalid"
  | "KubeletSettingsInvalid"
  | "RenderFailed"
  | "NameCollision"
  | "AccessDenied"
  | "ObjectInvalid"
  | "CloudRefused"
  | "ControlPlaneRefused"
  | "GroupClaimedTwice"
  | "LastGoodMissing";

export type MootType = "MachineGone" | "GenerationStale";

/** A wait whose deadline passed; the message says what remains. */
export type ExpiredType = "SettleExpired" | "MachineRemains";

/** A broken promise of our own code: tried a few times, then a person or a newer version is needed. */
export type BugType = "InternalError";

export type FailureType = RefusedType | MootType | ExpiredType | BugType | "ApiUnavailable";
