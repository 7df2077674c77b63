/** One constructor per class of failure, sorted by what the workflow does next. */
import { ApplicationFailure } from "@temporalio/common";
import type { BugType, ExpiredType, MootType, RefusedType } from "../workflows/contracts/mod.ts";

/** The name by which a failure is counted; "Other" for what has none of ours. */
export function failureTypeOf(error: unknown): string {
  return error instanceof ApplicationFailure ? error.type ?? "Other" : "Other";
}

/** It can never work as things are; the workflow halts with `type` as the reason. */
export function refused(type: RefusedType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}

/** The world moved on; the workflow plans again. */
export function moot(type: MootType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}

/** A wait whose absolute deadline passed; the message says what remains. */
export function expired(type: ExpiredType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}

/** Our identity may not do this; retried for a while, then the workflow halts. */
export function denied(message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, "AccessDenied" satisfies RefusedType);
}

/** Somebody has to put something there; retried for a while, as it may be on its way, then the workflow halts. */
export function missing(message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, "CredentialsMissing" satisfies RefusedType);
}

/** Our own code broke at `place`; a person, or a newer version, is needed when that `isLasting`. */
export function bug(step: string, place: string, isLasting: boolean): ApplicationFailure {
  const message = `Cannot do "${step}": a fault of Ostler itself, ${place}`;
  return ApplicationFailure.create({ message, type: "InternalError" satisfies BugType, nonRetryable: isLasting });
}

/** The API could not answer; retried, after so many milliseconds where it asked for that, then waited for. */
export function unavailable(message: string, afterMs?: number): ApplicationFailure {
  const wait = afterMs === undefined ? {} : { nextRetryDelay: afterMs };
  return ApplicationFailure.create({ message, type: "ApiUnavailable", ...wait });
}
