/** Creates failures: one constructor for each reaction of the workflow. */
import { ApplicationFailure } from "@temporalio/common";
import type { BugType, ExpiredType, MootType, RefusedType } from "../workflows/contracts/mod.ts";

/** Returns the name by which a failure is counted; "Other" for an error without a type. */
export function failureTypeOf(error: unknown): string {
  return error instanceof ApplicationFailure ? error.type ?? "Other" : "Other";
}

/** Permanent in the present state; the workflow halts with `type` as the reason. */
export function refused(type: RefusedType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}

/** The state of the cluster has changed; the workflow plans again. */
export function moot(type: MootType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}

/** The absolute deadline of a wait has passed; the message names what is still missing. */
export function expired(type: ExpiredType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}

/** The process lacks permission; retried for a while, then the workflow halts. */
export function denied(message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, "AccessDenied" satisfies RefusedType);
}

/** A required object does not exist; retried for a while, because it may be created soon, then the workflow halts. */
export function missing(message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, "CredentialsMissing" satisfies RefusedType);
}

/** Internal error at `place`; with `isLasting` it is not retried and needs an administrator or a newer version. */
export function bug(step: string, place: string, isLasting: boolean): ApplicationFailure {
  const message = `Failed to run activity "${step}": internal error, ${place}`;
  return ApplicationFailure.create({ message, type: "InternalError" satisfies BugType, nonRetryable: isLasting });
}

/**
 * The API is unavailable; retried, after `afterMs` milliseconds if the API asked for a pause, then the workflow waits.
 */
export function unavailable(message: string, afterMs?: number): ApplicationFailure {
  const wait = afterMs === undefined ? {} : { nextRetryDelay: afterMs };
  return ApplicationFailure.create({ message, type: "ApiUnavailable", ...wait });
}
