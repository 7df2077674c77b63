/** Sorts failures according to how the run responds to them. */
import { ActivityFailure, ApplicationFailure, isCancellation, TimeoutFailure } from "@temporalio/workflow";
import type { BugType, ExpiredType, MootType, RefusedType } from "../contracts/mod.ts";

export type Trouble =
  /** The step cannot succeed in the present state, or a deadline passed: a person or a change is needed. */
  | { kind: "halt"; reason: string; message: string }
  /** The state changed meanwhile: plan again. */
  | { kind: "replan" }
  /** The API is unavailable, so it is unknown whether the step succeeded: wait and retry. */
  | { kind: "unreachable"; message: string }
  /** A cancellation or an internal error: it ends this run of the chain, and the step must throw it again. */
  | { kind: "rethrow" };

const moot: Record<MootType, true> = { MachineGone: true, GenerationStale: true };

const halting: Record<RefusedType | ExpiredType | BugType, true> = {
  InternalError: true,
  ProfileMissing: true,
  ProfileInvalid: true,
  ProfileNotApproved: true,
  UtilityMismatch: true,
  CloudConfigInvalid: true,
  ParameterInvalid: true,
  CredentialsMissing: true,
  OperatingSystemMismatch: true,
  ProviderUnsupported: true,
  ProviderConfigInvalid: true,
  KubeletVersionInvalid: true,
  KubeletSettingsInvalid: true,
  RenderFailed: true,
  NameCollision: true,
  AccessDenied: true,
  ObjectInvalid: true,
  CloudRefused: true,
  ControlPlaneRefused: true,
  GroupClaimedTwice: true,
  NodeClaimedTwice: true,
  ImageNotAccepted: true,
  HandsMissing: true,
  EtcdAccessMissing: true,
  SettleExpired: true,
  LastGoodMissing: true,
  MachineRemains: true,
};

const outOfReach = ["ApiUnavailable", "NotFoundError"];

/** Returns what an error of a step means for the run. */
export function troubleOf(error: unknown): Trouble {
  if (isCancellation(error)) return { kind: "rethrow" };
  // The failure of a normal activity is wrapped, the failure of a local activity is not.
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) return { kind: "unreachable", message: cause.message };
  if (!(cause instanceof ApplicationFailure)) return { kind: "rethrow" };
  const type = cause.type ?? "";
  if (type in moot) return { kind: "replan" };
  if (type in halting) return { kind: "halt", reason: type, message: cause.message };
  // A worker of another version of Ostler may not know the activity yet, which fails with NotFoundError.
  if (outOfReach.includes(type)) return { kind: "unreachable", message: cause.message };
  const reason: BugType = "InternalError";
  return { kind: "halt", reason, message: `Activity failed with error type "${type}": ${cause.message}` };
}
