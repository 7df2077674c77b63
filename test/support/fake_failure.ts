/** Failures of fake activities. */
import { ApplicationFailure } from "@temporalio/common";
import type { FailureType } from "../../workflows/contracts/mod.ts";

/** Returns a final failure, so that no retry slows a test. */
export function failure(type: FailureType, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type);
}
