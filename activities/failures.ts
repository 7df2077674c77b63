/** Creates failures: one constructor for each reaction of the workflow. */
import { ApplicationFailure } from "@temporalio/common";
import type { BugType, ExpiredType, MootType, RefusedType } from "../workflows/contracts/mod.ts";

/** Returns the name by which a failure is counted; "Other" for an error without a type. */
export function failureTypeOf(error: unknown): string {
  return error instanceof ApplicationFailure ? error.type ?? "Other" : "Other";
}

/** Returns a failure that is permanent in the present state; the workflow halts with `type` as the reason. */
export function refused(type: RefusedType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}

/** Returns a failure for a step that no longer fits the state of the cluster; the workflow plans again. */
export function moot(type: MootType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}

/** Returns a failure for a wait whose absolute deadline has passed; the message names what is still missing. */
export function expired(type: ExpiredType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}

/** Returns a failure for a missing permission; the activity is retried for a while, then the workflow halts. */
export function denied(message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, "AccessDenied" satisfies RefusedType);
}

/**
 * Returns a failure for a missing object; the activity is retried for a while, because the object may be created soon,
 * then the workflow halts.
 */
export function missing(message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, "CredentialsMissing" satisfies RefusedType);
}

/**
 * Returns a failure for an internal error at `place`; with `isLasting` the activity is not retried, and the cause needs
 * an administrator or a newer version.
 */
export function bug(step: string, place: string, isLasting: boolean): ApplicationFailure {
  const message = `Failed to run activity "${step}": internal error, ${place}`;
  return ApplicationFailure.create({ message, type: "InternalError" satisfies BugType, nonRetryable: isLasting });
}

/**
 * Returns a failure for an unavailable API. Temporal retries the activity, after `afterMs` milliseconds if the API
 * asked for a pause. When the retries are used up, the workflow waits before it reconciles again.
 */
export function unavailable(message: string, afterMs?: number): ApplicationFailure {
  const wait = afterMs === undefined ? {} : { nextRetryDelay: afterMs };
  return ApplicationFailure.create({ message, type: "ApiUnavailable", ...wait });
}
