/** Sorts what went wrong by what happens next. */
import { ActivityFailure, ApplicationFailure, isCancellation, TimeoutFailure } from "@temporalio/workflow";
import type { BugType, ExpiredType, MootType, RefusedType } from "../contracts/mod.ts";

export type Trouble =
  /** It can never work as things are, or a deadline passed: a person or a change is needed. */
  | { kind: "halt"; reason: string; message: string }
  /** The world moved on: plan again. */
  | { kind: "replan" }
  /** Out of reach for now: neither success nor failure. */
  | { kind: "unreachable"; message: string }
  /** Not for a step to handle: a cancellation, or a bug, which ends this run of the chain. */
  | { kind: "rethrow" };

const moot: Record<MootType, true> = { MachineGone: true, GenerationStale: true };

const halting: Record<RefusedType | ExpiredType | BugType, true> = {
  InternalError: true,
  ProfileMissing: true,
  ProfileInvalid: true,
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

/** Tells what an error of a step means for the run. */
export function troubleOf(error: unknown): Trouble {
  if (isCancellation(error)) return { kind: "rethrow" };
  // A normal activity's failure comes wrapped, a local one's comes as it is.
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) return { kind: "unreachable", message: cause.message };
  if (!(cause instanceof ApplicationFailure)) return { kind: "rethrow" };
  const type = cause.type ?? "";
  if (type in moot) return { kind: "replan" };
  if (type in halting) return { kind: "halt", reason: type, message: cause.message };
  // A worker of another version may not know the step yet.
  if (outOfReach.includes(type)) return { kind: "unreachable", message: cause.message };
  const reason: BugType = "InternalError";
  return { kind: "halt", reason, message: `Activity failed with error type "${type}": ${cause.message}` };
}
