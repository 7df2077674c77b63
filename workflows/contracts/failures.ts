/** Why an activity gave up, sorted by what happens next. */

/** Why an activity gave up, sorted by what happens next (docs/how-to/operate.md tells what to do about each). */
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
  | "NodeClaimedTwice"
  | "ImageNotAccepted"
  | "HandsMissing"
  | "EtcdAccessMissing"
  | "LastGoodMissing";

/** What went wrong with a machine that is updated in place; a pool halts with the last one that it may not have. */
export type UpdateFailureType =
  | "StageRefused"
  | "ApplyRefused"
  | "UpdateRolledBack"
  | "UpdateNotReady"
  | "UpdateNotBooted"
  | "UpdateLost"
  | "GatesFailed";

export type MootType = "MachineGone" | "GenerationStale";

/** A wait whose deadline passed; the message says what remains. */
export type ExpiredType = "SettleExpired" | "MachineRemains";

/** A broken promise of our own code: tried a few times, then a person or a newer version is needed. */
export type BugType = "InternalError";

/** Who has to answer does not, for now: retried within bounds. */
export type TransientType = "ApiUnavailable" | "RegistryUnreachable";

export type FailureType = RefusedType | MootType | ExpiredType | BugType | TransientType;
